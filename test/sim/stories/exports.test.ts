import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { manifest } from "../../support/manifests.ts";
import { type AnyObject, condition } from "../../support/world.ts";
import { createStage, type Stage, waitForCondition } from "../stage/stage.ts";

type Holder = AnyObject & { data?: Record<string, string> };

let world: Stage;
beforeAll(async () => {
  world = await createStage();
  world.start();
});
afterAll(() => world.end());

const holder = async (kind: "ConfigMap" | "Secret", name: string) => (await world.get(kind, name)) as Holder;
const configMap = (name: string) => holder("ConfigMap", name);
const exists = async (kind: "ConfigMap" | "Secret", name: string) =>
  (await world.list(kind)).some(({ metadata }) => metadata.name === name);
const both = (name: string) => ({ exportTo: { configMap: { name }, secret: { name } } });

/** Has the endpoint reconciled once more, and waits for it. */
async function reconciled(name: string): Promise<AnyObject> {
  const value = `${performance.now()}`;
  await world.patch("GpuEndpoint", name, {
    metadata: { annotations: { "mooring.dev/reconcile-requested-at": value } },
  });
  return world.eventually(`${name} is reconciled`, async () => {
    const object = await world.get("GpuEndpoint", name);
    return object.status?.["lastHandledReconcileAt"] === value && object;
  });
}

describe("exportTo", () => {
  it("corrects each value that another client changed, and keeps that client's keys", async () => {
    await world.apply(manifest("endpoint", both("two-export"), "two"));
    await waitForCondition(world, "GpuEndpoint", "two", "Ready");
    await world.eventually(
      "both are made",
      async () => (await exists("Secret", "two-export")) && configMap("two-export"),
    );
    await world.patch("ConfigMap", "two-export", {
      metadata: { labels: { theirs: "yes" } },
      data: { url: "http://elsewhere.example.com", appName: null, note: "theirs" },
    });
    await world.remove("Secret", "two-export");
    // Nobody asks for a reconcile: both are noticed within a minute.
    const { status } = await world.get("GpuEndpoint", "two");
    await world.eventually(
      "both are put right",
      async () => (await exists("Secret", "two-export")) && (await configMap("two-export")).data?.["appName"],
      70_000,
    );
    const mended = await configMap("two-export");
    expect(mended.data).toEqual({
      url: status?.["url"],
      endpointID: status?.["endpointID"],
      appName: status?.["appName"],
      note: "theirs",
    });
    expect(mended.metadata.labels).toMatchObject({ theirs: "yes" });
  });

  it("never changes an object that the endpoint does not own, and reports it until it is gone", async () => {
    const data = { url: "mine", other: "x" };
    await world.apply({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "mine" }, data });
    const before = await configMap("mine");
    await world.apply(manifest("endpoint", { exportTo: { configMap: { name: "mine" } } }, "three"));
    const stalled = await waitForCondition(world, "GpuEndpoint", "three", "Stalled");
    expect(condition(stalled, "Stalled")).toMatchObject({
      reason: "ExportConflict",
      message: `exportTo.configMap names ConfigMap ${world.namespace}/mine, which exists and does not belong to this endpoint: Mooring does not change it; choose another name, or delete it`,
    });
    await reconciled("three");
    expect((await configMap("mine")).metadata.resourceVersion).toBe(before.metadata.resourceVersion);
    await world.remove("ConfigMap", "mine");
    await reconciled("three");
    const ready = await waitForCondition(world, "GpuEndpoint", "three", "Ready");
    expect(condition(ready, "Stalled")).toBeUndefined();
    expect((await world.eventually("it is made", () => configMap("mine"))).data).toMatchObject({
      endpointID: ready.status?.["endpointID"],
    });
  });

  it("follows the spec: another name, another kind, none", async () => {
    await world.apply(manifest("endpoint", { exportTo: { configMap: { name: "four-a" } } }, "four"));
    await world.eventually("the first is made", () => configMap("four-a"));
    await world.patch("GpuEndpoint", "four", { spec: { exportTo: { configMap: { name: "four-b" } } } });
    await world.eventually("the second is made", () => configMap("four-b"));
    expect(await exists("ConfigMap", "four-a")).toBe(false);
    await world.patch("GpuEndpoint", "four", { spec: { exportTo: { configMap: null, secret: { name: "four-c" } } } });
    await world.eventually("the Secret is made", () => holder("Secret", "four-c"));
    expect(await exists("ConfigMap", "four-b")).toBe(false);
    await world.patch("GpuEndpoint", "four", { spec: { exportTo: null } });
    await world.eventually("nothing is left", async () => !(await exists("Secret", "four-c")));
    const after = await reconciled("four");
    expect(after.status?.["exported"]).toBeUndefined();
    expect(condition(after, "Ready")?.status).toBe("True");
  });
});
