import { beforeAll, describe, expect, it } from "vitest";
import type { Resource } from "../../src/kube/resource.ts";
import { manifest } from "../support/manifests.ts";
import { condition, createWorld, eventually, type Operator, type World, waitForCondition } from "../support/world.ts";

const VALUES = [
  "first-hidden-value",
  "second-hidden-value",
  "foreign-hidden-value",
  "hidden-setting-1",
  "hidden-setting-2",
];
const env = [
  { name: "TOKEN", valueFrom: { secretKeyRef: { name: "tokens", key: "hub" } } },
  { name: "MODE", valueFrom: { configMapKeyRef: { name: "settings", key: "mode" } } },
  { name: "PLAIN", value: "as it is" },
];
const eventResource: Resource = {
  group: "events.k8s.io",
  version: "v1",
  plural: "events",
  kind: "Event",
  namespaced: true,
};

describe("values from Secrets and ConfigMaps", () => {
  const generations = ["current", "earlier"] as const;
  const policies = ["Remediate", "Report"] as const;
  const all = generations.flatMap((generation) =>
    policies.map((driftPolicy) => ({
      name: `${driftPolicy.toLowerCase()}-${generation}`,
      accountRef: { kind: "Account", name: generation },
      driftPolicy,
    })),
  );
  const reporting = all.filter(({ driftPolicy }) => driftPolicy === "Report").map(({ name }) => name);
  const remedying = all.filter(({ driftPolicy }) => driftPolicy === "Remediate").map(({ name }) => name);
  const ids = new Map<string, unknown>();
  let world: World;
  let operator: Operator;

  beforeAll(async () => {
    world = await createWorld("values", { account: null });
    for (const generation of generations) {
      await world.apply({
        kind: "Account",
        metadata: { name: generation },
        spec: {
          baseURL: world.simulator.url,
          apiKeySecretRef: { name: "key", key: "apiKey" },
          endpoints: { generation: generation === "current" ? "Current" : "Earlier", syncInterval: "1s" },
        },
      });
    }
    await world.apply({
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "tokens" },
      stringData: { hub: "first-hidden-value" },
    });
    await world.apply({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "settings" },
      data: { mode: "hidden-setting-1" },
    });
    operator = await world.startOperator();
    for (const { name, ...spec } of all) await world.apply(manifest("endpoint", { env, ...spec }, name));
    for (const { name } of all) {
      ids.set(name, (await waitForCondition(world, "GpuEndpoint", name, "Ready")).status?.["endpointID"]);
    }
  });

  const updatesOf = async (name: string) =>
    (await world.audit("updateEndpoint")).filter(({ body }) => body?.["id"] === ids.get(name));
  const sent = (hub: string, mode: string) => [
    { key: "TOKEN", value: hub },
    { key: "MODE", value: mode },
    { key: "PLAIN", value: "as it is" },
  ];

  it("a changed value reaches the remote within a minute with one update, whatever the drift policy", async () => {
    const updated = (times: number) =>
      eventually(`update ${times} of each`, async () =>
        (await Promise.all(all.map(({ name }) => updatesOf(name)))).every((updates) => updates.length === times),
      );
    await world.patch("Secret", "tokens", { stringData: { hub: "second-hidden-value" } });
    await updated(1);
    await world.patch("ConfigMap", "settings", { data: { mode: "hidden-setting-2" } });
    await updated(2);
    for (const { name } of all) {
      expect(
        (await updatesOf(name)).map(({ body }) => body?.["envs"]),
        name,
      ).toEqual([sent("second-hidden-value", "hidden-setting-1"), sent("second-hidden-value", "hidden-setting-2")]);
    }
  });

  it("a value that somebody changes at the remote is drift, and only reported under Report", async () => {
    for (const name of reporting) {
      const before = (await updatesOf(name)).length;
      await world.control("POST", `/__state/endpoints/${ids.get(name)}`, {
        envs: sent("foreign-hidden-value", "hidden-setting-2"),
      });
      const drifted = await waitForCondition(world, "GpuEndpoint", name, "Synced", "False");
      expect(drifted.status?.["drift"], name).toEqual([
        { field: "env", desired: "TOKEN=(hidden)", observed: "TOKEN=(hidden)" },
      ]);
      expect(await updatesOf(name), name).toHaveLength(before);
    }
  });

  it("a refusal that quotes a value is shown without it", async () => {
    await world.control("POST", "/__faults", {
      operation: "updateEndpoint",
      kind: "status",
      status: 400,
      body: { code: 400, reason: "INVALID_REQUEST", message: "envs[0].value second-hidden-value is not allowed here" },
      probability: 1,
    });
    for (const name of remedying) {
      await world.patch("GpuEndpoint", name, { spec: { image: "a:2" } });
      const stalled = await waitForCondition(world, "GpuEndpoint", name, "Stalled");
      expect(condition(stalled, "Stalled"), name).toMatchObject({
        reason: "RemoteRefused",
        message: expect.stringContaining("envs[0].value (hidden) is not allowed here"),
      });
    }
    await world.control("DELETE", "/__faults");
  });

  it("what was refused is not sent again by itself at once, but when somebody asks", async () => {
    const refusals = async (name: string) => (await updatesOf(name)).filter(({ status }) => status === 400);
    const sweeps = async () => (await world.audit("listEndpointsEarlier")).length;
    const before = await sweeps();
    await eventually("three more sweeps", async () => (await sweeps()) > before + 3);
    for (const name of remedying) {
      expect(await refusals(name), name).toHaveLength(1);
      await world.patch("GpuEndpoint", name, {
        metadata: { annotations: { "mooring.dev/reconcile-requested-at": "now" } },
      });
      const ready = await waitForCondition(world, "GpuEndpoint", name, "Ready");
      expect(condition(ready, "Synced")?.status, name).toBe("True");
    }
  });

  it("keys that are missing stall the endpoint by name, all of them, and their coming releases it", async () => {
    await world.patch("Secret", "tokens", { data: { hub: null } });
    await world.patch("ConfigMap", "settings", { data: { mode: null } });
    const message = [
      `Secret ${world.namespace}/tokens has no key "hub": add it`,
      `ConfigMap ${world.namespace}/settings has no key "mode": add it`,
    ].join("; ");
    for (const { name } of all) {
      await eventually(`${name} is stalled`, async () => {
        const stalled = condition(await world.get("GpuEndpoint", name), "Stalled");
        return stalled?.reason === "SecretKeyMissing" && stalled.message === message;
      });
    }
    await world.patch("Secret", "tokens", { stringData: { hub: "first-hidden-value" } });
    await world.patch("ConfigMap", "settings", { data: { mode: "hidden-setting-1" } });
    for (const { name } of all) {
      const released = await waitForCondition(world, "GpuEndpoint", name, "Ready");
      expect(condition(released, "Stalled"), name).toBeUndefined();
    }
  });

  it("no value is in any status, event, log or other object of ours", async () => {
    const { items: events } = await world.kube.list(eventResource, { namespace: world.namespace });
    const shown = {
      objects: await world.list("GpuEndpoint"),
      account: await world.list("Account"),
      events,
      log: operator.log(),
    };
    expect(events.length).toBeGreaterThan(0);
    for (const [where, what] of Object.entries(shown)) {
      const text = JSON.stringify(what);
      for (const value of VALUES) {
        expect(text, where).not.toContain(value);
        expect(text, where).not.toContain(Buffer.from(value).toString("base64"));
      }
    }
  });
});

describe("the account's limits", () => {
  const limits = { maxWorkerNum: 4, maxGPUNum: 2, maxFreeTimeout: 100, maxQueueWaitTime: 20 };
  let world: World;
  beforeAll(async () => {
    world = await createWorld("limits", { simulator: { limits } });
    await world.startOperator();
  });

  /** The service has other limits, and somebody asks the account to look. */
  async function change(changed: Record<string, number>, asked: string): Promise<void> {
    await world.control("POST", "/__config", { limits: { ...limits, ...changed } });
    await world.patch("Account", "default", {
      metadata: { annotations: { "mooring.dev/reconcile-requested-at": asked } },
    });
  }

  it("hold an endpoint back with one condition for all fields, and release it by themselves", async () => {
    await world.apply(
      manifest(
        "endpoint",
        { workers: { max: 5, gpus: 3, idleTimeoutSeconds: 101 }, policy: { type: "queue", value: 30 } },
        "large",
      ),
    );
    const stalled = await waitForCondition(world, "GpuEndpoint", "large", "Stalled");
    expect(condition(stalled, "Stalled")).toMatchObject({
      reason: "OutOfRange",
      message:
        "outside the limits of the account: workers.max is 5, allowed is 0 to 4; workers.idleTimeoutSeconds is 101, allowed is 1 to 100; workers.gpus is 3, allowed is 1 to 2; policy.value is 30, allowed is 1 to 20: change the spec",
    });
    await change({ maxWorkerNum: 10 }, "1");
    await eventually("the list is shorter", async () => {
      const { message = "" } = condition(await world.get("GpuEndpoint", "large"), "Stalled") ?? {};
      return message.includes("workers.gpus") && !message.includes("workers.max");
    });
    expect(await world.audit("createEndpoint")).toEqual([]);
    await change({ maxWorkerNum: 10, maxGPUNum: 8, maxFreeTimeout: 3600, maxQueueWaitTime: 1000 }, "2");
    const ready = await waitForCondition(world, "GpuEndpoint", "large", "Ready");
    expect(condition(ready, "Stalled")).toBeUndefined();
  });

  it("that become narrower leave alone what runs, and hold back the next change", async () => {
    await change({ maxWorkerNum: 4, maxGPUNum: 8, maxFreeTimeout: 3600, maxQueueWaitTime: 1000 }, "3");
    await eventually(
      "the account knows",
      async () => (await world.get("Account", "default")).status?.["lastHandledReconcileAt"] === "3",
    );
    const running = await world.get("GpuEndpoint", "large");
    expect(condition(running, "Ready")?.status).toBe("True");
    await world.patch("GpuEndpoint", "large", { spec: { image: "a:2" } });
    const stalled = await waitForCondition(world, "GpuEndpoint", "large", "Stalled");
    expect(condition(stalled, "Stalled")?.message).toContain("workers.max is 5, allowed is 0 to 4");
    expect(await world.audit("updateEndpoint")).toEqual([]);
    await world.patch("GpuEndpoint", "large", { spec: { workers: { max: 4 } } });
    await waitForCondition(world, "GpuEndpoint", "large", "Ready");
    const updates = await world.audit("updateEndpoint");
    expect(updates.map(({ body }) => [body?.["image"], body?.["workerConfig"]])).toEqual([
      [{ image: "a:2" }, expect.objectContaining({ maxNum: 4 })],
    ]);
  });
});
