import { describe, expect, it } from "vitest";
import type { AssumptionsInput } from "../../src/simulator/assumptions.ts";
import { manifest } from "../support/manifests.ts";
import {
  type AnyObject,
  API_KEY,
  condition,
  createWorld,
  eventsOf,
  eventually,
  type World,
  waitForCondition,
} from "../support/world.ts";

const FOREIGN_KEY = "key-of-another-member";
const deleteOperation = { method: "DELETE", path: "/gpus/v2/endpoints/{id}" } as const;

/** A world whose keys see only what their own member created. */
async function memberWorld(prefix: string, simulator: AssumptionsInput = {}): Promise<World> {
  return createWorld(prefix, {
    simulator: { keySees: "Member", apiKeys: [API_KEY, FOREIGN_KEY], deleteOperation, ...simulator },
    account: { endpoints: { syncInterval: "1s", deleteOperation } },
  });
}

/** The account gets another key; resolves when the operator uses it. */
async function useKey(world: World, apiKey: string): Promise<void> {
  await world.patch("Secret", "key", { stringData: { apiKey } });
  await world.patch("Account", "default", {
    metadata: { annotations: { "mooring.dev/reconcile-requested-at": apiKey } },
  });
  await eventually(
    "the account was asked",
    async () => (await world.get("Account", "default")).status?.["lastHandledReconcileAt"] === apiKey,
  );
}

const TIMEOUT = { timeout: 300_000 };

type Remote = {
  id: string;
  parameters: { image: { image: string }; workerConfig: { minNum: number; maxNum: number } };
};
const remotes = async (world: World) => (await world.state()).endpoints as Remote[];
const scales = async (world: World) =>
  (await remotes(world)).map(({ parameters: { workerConfig } }) => `${workerConfig.minNum}/${workerConfig.maxNum}`);
const isGone = async (world: World, name: string) =>
  !(await world.list("GpuEndpoint")).some(({ metadata }) => metadata.name === name);
const updates = async (world: World, status?: number) =>
  (await world.audit("updateEndpoint")).filter((entry) => status === undefined || entry.status === status);

const message = (object: AnyObject, type: string) => condition(object, type)?.message ?? "";

describe.concurrent("a deletion ends when the service shows that it took effect", () => {
  it("updates without effect keep the object, until they take effect", TIMEOUT, async () => {
    const world = await createWorld("noeffect", { simulator: { updateIgnores: ["*"] } });
    await world.startOperator();
    await world.apply(manifest("endpoint", {}, "kept"));
    const { status } = await waitForCondition(world, "GpuEndpoint", "kept", "Ready");
    await world.remove("GpuEndpoint", "kept");
    const shown = `The service accepted the update of endpoint ${status?.["endpointID"]} to workers 0/0 (min/max), but still shows 1/2`;
    await eventually("the condition says so", async () =>
      message(await world.get("GpuEndpoint", "kept"), "Reconciling").includes(shown),
    );
    await eventually("the update was repeated", async () => (await updates(world)).length === 3);
    const times = (await updates(world)).map(({ time }) => Date.parse(time));
    const pauses = times.slice(1).map((time, i) => Math.round((time - (times[i] ?? 0)) / 1_000));
    expect(pauses[0]).toBeGreaterThanOrEqual(10);
    expect(pauses[1]).toBeGreaterThanOrEqual(20);
    expect([await isGone(world, "kept"), await scales(world)]).toEqual([false, ["1/2"]]);
    await world.control("POST", "/__config", { updateIgnores: [] });
    await eventually("it is gone", () => isGone(world, "kept"), 90_000);
    expect(await scales(world)).toEqual(["0/0"]);
    expect(await eventsOf(world, "GpuEndpoint", "kept")).toContainEqual(expect.stringContaining("ScaledToZero"));
  });

  it.for(["ScaleToZero", "Delete"])(
    "%s with the key of another member keeps the object",
    TIMEOUT,
    async (policy, t) => {
      const world = await memberWorld("foreign");
      await world.startOperator();
      await world.apply(manifest("endpoint", { deletionPolicy: policy }, "kept"));
      await waitForCondition(world, "GpuEndpoint", "kept", "Ready");
      await useKey(world, FOREIGN_KEY);
      await world.remove("GpuEndpoint", "kept");
      const stalled = await waitForCondition(world, "GpuEndpoint", "kept", "Stalled", "True", 120_000);
      t.expect(condition(stalled, "Stalled")).toMatchObject({
        reason: "RemoteMissing",
        message: expect.stringMatching(
          /^It is not known whether endpoint .* still runs: .*Put a key that sees .*deletion-policy=Retain --overwrite$/,
        ),
      });
      t.expect(await scales(world)).toEqual(["1/2"]);
      await useKey(world, API_KEY);
      await eventually("it is gone", () => isGone(world, "kept"), 120_000);
      t.expect(await scales(world)).toEqual(policy === "Delete" ? [] : ["0/0"]);
    },
  );

  it("an endpoint that no status shows, because its create had no response, is scaled to zero", TIMEOUT, async () => {
    const world = await createWorld("unknown");
    await world.control("POST", "/__faults", {
      kind: "latency",
      operation: "createEndpoint",
      latencyMs: 60_000,
      after: true,
    });
    const operator = await world.startOperator();
    await world.apply(manifest("endpoint", {}, "unknown"));
    await eventually("the create took effect", async () => (await remotes(world)).length === 1);
    await operator.kill();
    await world.remove("GpuEndpoint", "unknown");
    await world.startOperator();
    await eventually("it is gone", () => isGone(world, "unknown"));
    expect(await scales(world)).toEqual(["0/0"]);
  });

  it("an endpoint that replaces a removed one, and that no status shows yet, is scaled to zero", TIMEOUT, async () => {
    const world = await createWorld("replaced", { account: { endpoints: { syncInterval: "1s" } } });
    const operator = await world.startOperator();
    await world.apply(manifest("endpoint", {}, "other"));
    await world.apply(manifest("endpoint", {}, "replaced"));
    await waitForCondition(world, "GpuEndpoint", "other", "Ready");
    const { status } = await waitForCondition(world, "GpuEndpoint", "replaced", "Ready");
    await world.control("POST", "/__faults", {
      kind: "latency",
      operation: "createEndpoint",
      latencyMs: 60_000,
      after: true,
    });
    await world.control("POST", `/__state/endpoints/${status?.["endpointID"]}`, { delete: true });
    await eventually("the create took effect", async () => (await remotes(world)).length === 2, 150_000);
    await operator.kill();
    await world.remove("GpuEndpoint", "replaced");
    await world.startOperator();
    await eventually("it is gone", () => isGone(world, "replaced"), 150_000);
    expect((await scales(world)).sort()).toEqual(["0/0", "1/2"]);
  });

  it.for([
    { response: "late", latencyMs: 4_000 },
    { response: "lost", latencyMs: 60_000 },
  ])(
    "an object that is gone before the $response response to its create leaves nothing running",
    TIMEOUT,
    async ({ latencyMs }, t) => {
      const world = await createWorld("departed", {
        account: { requestTimeout: "10s", endpoints: { syncInterval: "1s" } },
      });
      await world.control("POST", "/__faults", {
        kind: "latency",
        operation: "createEndpoint",
        latencyMs,
        after: true,
      });
      await world.startOperator();
      await world.apply(manifest("endpoint", {}, "departed"));
      await eventually("the create took effect", async () => (await remotes(world)).length === 1);
      await world.patch("GpuEndpoint", "departed", { metadata: { finalizers: null } });
      await world.remove("GpuEndpoint", "departed");
      t.expect(await isGone(world, "departed")).toBe(true);
      await eventually("it is scaled to zero", async () => (await scales(world))[0] === "0/0", 60_000);
      await eventually("an event says so", async () =>
        (await eventsOf(world, "GpuEndpoint", "departed")).some((event) => event.startsWith("Normal ScaledToZero")),
      );
      t.expect((await updates(world)).map(({ status }) => status)).toEqual([200]);
    },
  );

  it("the account's last endpoint is deleted at the service, and its object goes", TIMEOUT, async () => {
    const world = await memberWorld("last");
    await world.startOperator();
    await world.apply(manifest("endpoint", { deletionPolicy: "Delete" }, "last"));
    await waitForCondition(world, "GpuEndpoint", "last", "Ready");
    await world.remove("GpuEndpoint", "last");
    await eventually("it is gone", () => isGone(world, "last"));
    expect(await remotes(world)).toEqual([]);
  });
});

describe.concurrent("an endpoint that the service does not show", () => {
  it("is not created again with the key of another member, not even the only one", TIMEOUT, async () => {
    const world = await memberWorld("onlyone");
    await world.startOperator();
    await world.apply(manifest("endpoint", {}, "only"));
    await waitForCondition(world, "GpuEndpoint", "only", "Ready");
    await useKey(world, FOREIGN_KEY);
    const stalled = await waitForCondition(world, "GpuEndpoint", "only", "Stalled", "True", 120_000);
    expect(condition(stalled, "Stalled")).toMatchObject({
      reason: "RemoteMissing",
      message: expect.stringMatching(/^the only endpoint of this account is not shown by the service, as with the key/),
    });
    expect(await world.audit("createEndpoint")).toHaveLength(1);
    await useKey(world, API_KEY);
    const ready = await waitForCondition(world, "GpuEndpoint", "only", "Ready", "True", 90_000);
    expect(condition(ready, "Stalled")).toBeUndefined();
    expect(await world.audit("createEndpoint")).toHaveLength(1);
  });

  it.for(["ScaleToZero", "Delete"])(
    "with the key of another member, and that a user requests again, is the object's when its own key is back (%s)",
    TIMEOUT,
    async (deletionPolicy, t) => {
      const world = await memberWorld("requested", { duplicateAppName: "Accept" });
      await world.startOperator();
      await world.apply(manifest("endpoint", { deletionPolicy }, "only"));
      const own = await waitForCondition(world, "GpuEndpoint", "only", "Ready");
      await useKey(world, FOREIGN_KEY);
      await waitForCondition(world, "GpuEndpoint", "only", "Stalled");
      await world.patch("GpuEndpoint", "only", {
        metadata: { annotations: { "mooring.dev/reconcile-requested-at": "again" } },
      });
      const foreign = await waitForCondition(world, "GpuEndpoint", "only", "Ready");
      t.expect(foreign.status?.["endpointID"]).not.toBe(own.status?.["endpointID"]);
      await useKey(world, API_KEY);
      await eventually("the object has its own endpoint", async () => {
        const { status } = await world.get("GpuEndpoint", "only");
        return status?.["endpointID"] === own.status?.["endpointID"];
      });
      await waitForCondition(world, "GpuEndpoint", "only", "Ready");
      t.expect(await world.audit("createEndpoint")).toHaveLength(2);

      await useKey(world, FOREIGN_KEY);
      await eventually("the object has the other member's endpoint", async () => {
        const { status } = await world.get("GpuEndpoint", "only");
        return status?.["endpointID"] === foreign.status?.["endpointID"];
      });
      const [pause, resume] = [{ "mooring.dev/paused": "true" }, { "mooring.dev/paused": null }];
      await world.patch("GpuEndpoint", "only", { metadata: { annotations: pause } });
      await useKey(world, API_KEY);
      await world.remove("GpuEndpoint", "only");
      await world.patch("GpuEndpoint", "only", { metadata: { annotations: resume } });
      const left = deletionPolicy === "Delete" ? ["1/2"] : ["0/0", "1/2"];
      await eventually("its own endpoint does not run", async () => String(await scales(world)) === String(left));
      const stalled = await waitForCondition(world, "GpuEndpoint", "only", "Stalled");
      t.expect(condition(stalled, "Stalled")).toMatchObject({ reason: "RemoteMissing" });
      t.expect(await isGone(world, "only")).toBe(false);
    },
  );

  it("is created again when the list shows another of the account", TIMEOUT, async () => {
    const world = await memberWorld("another");
    await world.startOperator();
    for (const name of ["stays", "goes"]) await world.apply(manifest("endpoint", {}, name));
    await waitForCondition(world, "GpuEndpoint", "stays", "Ready");
    const { status } = await waitForCondition(world, "GpuEndpoint", "goes", "Ready");
    await world.control("POST", `/__state/endpoints/${status?.["endpointID"]}`, { delete: true });
    await eventually("it is created again", async () => (await world.audit("createEndpoint")).length === 3, 120_000);
    const again = await waitForCondition(world, "GpuEndpoint", "goes", "Ready");
    expect(again.status?.["endpointID"]).not.toBe(status?.["endpointID"]);
  });
});

describe.concurrent("a change of the spec is applied when a read shows it", () => {
  const IMAGE = "registry.example.com/models/echo:2.0";
  const imageOf = async (world: World) => (await remotes(world))[0]?.parameters.image.image;

  async function changed(prefix: string): Promise<World> {
    const world = await createWorld(prefix, { account: { endpoints: { syncInterval: "2s" } } });
    await world.startOperator();
    await world.apply(manifest("endpoint", {}, "e"));
    await waitForCondition(world, "GpuEndpoint", "e", "Ready");
    return world;
  }

  it.for(["Remediate", "Report"])("three 502 responses delay it, %s", TIMEOUT, async (driftPolicy, t) => {
    const world = await changed("gateway");
    await world.patch("GpuEndpoint", "e", { spec: { driftPolicy } });
    await world.control("POST", "/__faults", { operation: "updateEndpoint", kind: "gatewayPage", times: 3 });
    await world.patch("GpuEndpoint", "e", { spec: { image: IMAGE } });
    const reasons = new Set<string | undefined>();
    const applied = await eventually(
      "it is applied",
      async () => {
        const object = await world.get("GpuEndpoint", "e");
        const isApplied = object.status?.["appliedGeneration"] === object.metadata.generation;
        reasons.add(condition(object, "Synced")?.reason);
        // What the status says after this look is no older than the remote that is read now.
        t.expect(isApplied && (await imageOf(world)) !== IMAGE).toBe(false);
        return isApplied && condition(object, "Synced")?.status === "True" && object;
      },
      120_000,
    );
    t.expect(applied.metadata.generation).toBe(driftPolicy === "Report" ? 3 : 2);
    t.expect(reasons).not.toContain("DriftFight");
    t.expect([await imageOf(world), (await updates(world)).map(({ status }) => status)]).toEqual([
      IMAGE,
      [502, 502, 502, 200],
    ]);
  });

  it("an update without effect is no fight: it is repeated with backoff and says so", TIMEOUT, async () => {
    const world = await changed("ignored");
    await world.control("POST", "/__config", { updateIgnores: ["image"] });
    await world.patch("GpuEndpoint", "e", { spec: { image: IMAGE } });
    const ignored = await eventually("it says so", async () => {
      const object = await world.get("GpuEndpoint", "e");
      return condition(object, "Synced")?.reason === "UpdateNotApplied" && object;
    });
    expect(message(ignored, "Synced")).toBe(
      "The service accepts the update of image but does not apply it; the update is repeated with backoff",
    );
    expect(ignored.status?.["appliedGeneration"]).toBe(1);
    await eventually("a third update", async () => (await updates(world)).length >= 3, 90_000);
    expect(condition(await world.get("GpuEndpoint", "e"), "Synced")?.reason).toBe("UpdateNotApplied");
    await world.control("POST", "/__config", { updateIgnores: [] });
    await waitForCondition(world, "GpuEndpoint", "e", "Synced", "True", 90_000);
    expect([await imageOf(world), (await world.get("GpuEndpoint", "e")).status?.["appliedGeneration"]]).toEqual([
      IMAGE,
      2,
    ]);
  });
});
