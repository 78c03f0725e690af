import { beforeAll, describe, expect, it } from "vitest";
import { manifest } from "../support/manifests.ts";
import { type AnyObject, createWorld, eventually, type World, waitForCondition } from "../support/world.ts";

type Holder = AnyObject & { data?: Record<string, string> };

let world: World;
beforeAll(async () => {
  world = await createWorld("exports");
  await world.startOperator();
});

const holder = async (kind: "ConfigMap" | "Secret", name: string) => (await world.get(kind, name)) as Holder;
const configMap = (name: string) => holder("ConfigMap", name);
const decoded = ({ data = {} }: Holder) =>
  Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value, "base64").toString()]));
const exists = async (kind: "ConfigMap" | "Secret", name: string) =>
  (await world.list(kind)).some(({ metadata }) => metadata.name === name);
const both = (name: string) => ({ exportTo: { configMap: { name }, secret: { name } } });

/** Has the endpoint reconciled once more, and waits for it. */
async function reconciled(name: string): Promise<AnyObject> {
  const value = `${performance.now()}`;
  await world.patch("GpuEndpoint", name, {
    metadata: { annotations: { "mooring.dev/reconcile-requested-at": value } },
  });
  return eventually(`${name} is reconciled`, async () => {
    const object = await world.get("GpuEndpoint", name);
    return object.status?.["lastHandledReconcileAt"] === value && object;
  });
}

describe.concurrent("exportTo", () => {
  it("writes url, endpointID and appName, once, and goes with the endpoint", async () => {
    const { metadata } = await world.apply(manifest("endpoint", both("one-export"), "one"));
    const { status } = await waitForCondition(world, "GpuEndpoint", "one", "Ready");
    const made = await eventually("both are made", async () => {
      return { configMap: await configMap("one-export"), secret: await holder("Secret", "one-export") };
    });
    const values = { url: status?.["url"], endpointID: status?.["endpointID"], appName: status?.["appName"] };
    expect(made.configMap.data).toEqual(values);
    expect(decoded(made.secret)).toEqual(values);
    const owner = { kind: "GpuEndpoint", name: "one", uid: metadata.uid, controller: true };
    for (const one of Object.values(made)) {
      expect(one.metadata.ownerReferences).toEqual([{ apiVersion: "mooring.dev/v1alpha1", ...owner }]);
      expect(one.metadata.labels).toEqual({ "app.kubernetes.io/managed-by": "mooring" });
    }
    await reconciled("one");
    const again = await reconciled("one");
    expect(again.status?.["exported"]).toEqual({ configMap: "one-export", secret: "one-export" });
    expect((await configMap("one-export")).metadata.resourceVersion).toBe(made.configMap.metadata.resourceVersion);
    expect((await holder("Secret", "one-export")).metadata.resourceVersion).toBe(made.secret.metadata.resourceVersion);

    await world.remove("GpuEndpoint", "one");
    await eventually(
      "the garbage collector removes both",
      async () => !(await exists("ConfigMap", "one-export")) && !(await exists("Secret", "one-export")),
    );
  });

  it("an endpoint made anew under the same name waits for the collector instead of stalling", async () => {
    await world.apply(manifest("endpoint", both("five-export"), "five"));
    await eventually("it is made", () => holder("Secret", "five-export"));
    await world.remove("GpuEndpoint", "five");
    await eventually("it is gone", async () =>
      (await world.list("GpuEndpoint")).every(({ metadata }) => metadata.name !== "five"),
    );
    const { metadata } = await world.apply(manifest("endpoint", both("five-export"), "five"));
    const owner = (object: Holder) => object.metadata.ownerReferences?.[0]?.uid;
    await eventually("both are the new endpoint's", async () => {
      const { conditions = [] } = (await world.get("GpuEndpoint", "five")).status ?? {};
      expect(conditions.map(({ type }) => type)).not.toContain("Stalled");
      const owners = [await configMap("five-export"), await holder("Secret", "five-export")].map(owner);
      return owners.every((uid) => uid === metadata.uid);
    });
  });
});
