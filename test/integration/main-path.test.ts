import { beforeAll, describe, expect, it } from "vitest";
import { eventResource } from "../../src/kube/resource.ts";
import { manifest } from "../support/manifests.ts";
import { senderOf } from "../support/open-records.ts";
import {
  API_KEY,
  condition,
  createWorld,
  eventually,
  type Operator,
  type World,
  waitForCondition,
} from "../support/world.ts";

describe("manifests become remote endpoints, speech and video", () => {
  let world: World;
  let operator: Operator;
  beforeAll(async () => {
    world = await createWorld("main");
    operator = await world.startOperator();
  });

  it("an endpoint is created once and serves; it has the record, then its status shows the endpoint", async () => {
    const created = await world.apply(manifest("endpoint", {}, "one"));
    const ready = await waitForCondition(world, "GpuEndpoint", "one", "Ready");
    expect(ready.status).toMatchObject({
      observedGeneration: 1,
      appliedGeneration: 1,
      remote: { status: "running" },
      account: { kind: "Account", name: "default", baseURL: world.simulator.url },
    });
    expect(ready.status?.endpointID).toEqual(expect.any(String));
    expect(ready.status?.url).toMatch(/^https?:/);
    expect(condition(ready, "Synced")).toMatchObject({ status: "True", reason: "InSync" });
    expect(ready.metadata.finalizers).toEqual(["mooring.dev/finalizer"]);
    const creates = (await world.audit("createEndpoint")).filter(({ body }) => JSON.stringify(body).includes("one-"));
    expect(creates).toHaveLength(1);
    expect(senderOf(ready)).toEqual(expect.any(String));
    // One write for the record and the finalizer, one for the endpoint.
    expect(created.metadata.resourceVersion).not.toBe(ready.metadata.resourceVersion);
  });

  it("editing workers.max reaches the remote in one update with all parameters in full", async () => {
    await world.apply(manifest("endpoint", {}, "edited"));
    const before = await waitForCondition(world, "GpuEndpoint", "edited", "Ready");
    await world.control("DELETE", "/__audit");
    await world.patch("GpuEndpoint", "edited", { spec: { workers: { max: 5 } } });
    await eventually(
      "the change is applied",
      async () => (await world.get("GpuEndpoint", "edited")).status?.appliedGeneration === 2,
    );
    const updates = await world.audit("updateEndpoint");
    expect(updates).toHaveLength(1);
    expect(updates[0]?.body).toEqual({
      id: before.status?.endpointID,
      name: `${world.namespace}-edited`,
      workerConfig: { minNum: 1, maxNum: 5, freeTimeout: 60, maxConcurrent: 4, gpuNum: 1, requestTimeout: 120 },
      ports: [{ port: "8000" }],
      policy: { type: "queue", value: 30 },
      image: { image: "registry.example.com/models/echo:1.0" },
      volumeMounts: [],
      envs: [],
      healthy: { path: "/health" },
    });
    const after = await waitForCondition(world, "GpuEndpoint", "edited", "Synced");
    expect(after.status?.drift).toBeUndefined();
  });

  it("a change at the remote is found and remedied", async () => {
    await world.apply(manifest("endpoint", {}, "drifting"));
    const { status } = await waitForCondition(world, "GpuEndpoint", "drifting", "Ready");
    await world.control("POST", `/__state/endpoints/${status?.endpointID}`, {
      image: { image: "registry.example.com/other:2" },
    });
    await world.patch("GpuEndpoint", "drifting", {
      metadata: { annotations: { "mooring.dev/reconcile-requested-at": "now" } },
    });
    await eventually("the drift is remedied", async () => {
      const { endpoints } = await world.state();
      return JSON.stringify(endpoints.find(({ id }) => id === status?.endpointID)).includes("models/echo:1.0");
    });
    const after = await eventually("the request is handled", async () => {
      const object = await world.get("GpuEndpoint", "drifting");
      return object.status?.lastHandledReconcileAt === "now" && object;
    });
    expect(condition(after, "Ready")?.status).toBe("True");
  });

  it("a suspended endpoint is stopped, a deleted one scaled to zero, a retained one left alone", async () => {
    await world.apply(manifest("endpoint", { suspend: true }, "asleep"));
    const stopped = await waitForCondition(world, "GpuEndpoint", "asleep", "Stopped");
    await world.remove("GpuEndpoint", "asleep");
    await eventually(
      "it is gone",
      async () => !(await world.list("GpuEndpoint")).some(({ metadata }) => metadata.name === "asleep"),
    );

    await world.apply(manifest("endpoint", {}, "scaled"));
    const scaled = await waitForCondition(world, "GpuEndpoint", "scaled", "Ready");
    await world.apply(manifest("endpoint", { deletionPolicy: "Retain" }, "kept"));
    const kept = await waitForCondition(world, "GpuEndpoint", "kept", "Ready");
    expect(kept.metadata.finalizers ?? []).toEqual([]);
    await world.control("DELETE", "/__audit");
    await world.remove("GpuEndpoint", "scaled");
    await world.remove("GpuEndpoint", "kept");
    await eventually("they are gone", async () =>
      (await world.list("GpuEndpoint")).every(({ metadata }) => !["scaled", "kept"].includes(metadata.name)),
    );
    const updates = await world.audit("updateEndpoint");
    expect(updates.map(({ body }) => [body?.id, body?.workerConfig])).toEqual([
      [scaled.status?.endpointID, expect.objectContaining({ minNum: 0, maxNum: 0 })],
    ]);
    expect(updates.map(({ body }) => body?.id)).not.toContain(stopped.status?.endpointID);
  });

  it("values outside the account's limits stall the endpoint with one line for all of them, and nothing is sent", async () => {
    await world.control("DELETE", "/__audit");
    await world.apply(
      manifest(
        "endpoint",
        { workers: { gpus: 64, idleTimeoutSeconds: 999_999 }, policy: { value: 1_000_000 } },
        "wild",
      ),
    );
    const stalled = await waitForCondition(world, "GpuEndpoint", "wild", "Stalled");
    expect(condition(stalled, "Stalled")).toMatchObject({ reason: "OutOfRange" });
    const message = condition(stalled, "Stalled")?.message ?? "";
    expect(message).toContain("workers.gpus is 64, allowed is 1 to 8");
    expect(message).toContain("workers.idleTimeoutSeconds is 999999, allowed is 1 to 3600");
    expect(message).toContain("policy.value is 1000000, allowed is 1 to 1000");
    expect(condition(stalled, "Ready")?.status).toBe("False");
    expect((await world.audit("createEndpoint")).filter(({ body }) => JSON.stringify(body).includes("wild"))).toEqual(
      [],
    );
  });

  it("values from Secrets and ConfigMaps reach the remote and no object or log", async () => {
    await world.apply({
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "tokens" },
      stringData: { hub: "s3cr3t-value" },
    });
    await world.apply({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "settings" }, data: { mode: "fast" } });
    const env = [
      { name: "HUB_TOKEN", valueFrom: { secretKeyRef: { name: "tokens", key: "hub" } } },
      { name: "MODE", valueFrom: { configMapKeyRef: { name: "settings", key: "mode" } } },
      { name: "PLAIN", value: "as it is" },
    ];
    await world.apply(manifest("endpoint", { env, driftPolicy: "Report" }, "env"));
    const ready = await waitForCondition(world, "GpuEndpoint", "env", "Ready");
    const [create] = (await world.audit("createEndpoint")).filter(({ id }) => id === ready.status?.endpointID);
    expect(create?.body).toMatchObject({
      endpoint: {
        envs: [
          { key: "HUB_TOKEN", value: "s3cr3t-value" },
          { key: "MODE", value: "fast" },
          { key: "PLAIN", value: "as it is" },
        ],
      },
    });
    await world.control("POST", `/__state/endpoints/${ready.status?.endpointID}`, {
      envs: [{ key: "HUB_TOKEN", value: "foreign" }],
    });
    await world.patch("GpuEndpoint", "env", {
      metadata: { annotations: { "mooring.dev/reconcile-requested-at": "1" } },
    });
    const drifted = await waitForCondition(world, "GpuEndpoint", "env", "Synced", "False");
    expect(drifted.status?.drift).toEqual([
      {
        field: "env",
        desired: "HUB_TOKEN=(hidden), MODE=(hidden), PLAIN=(hidden)",
        observed: "HUB_TOKEN=(hidden), MODE absent, PLAIN absent",
      },
    ]);
    const { items: events } = await world.kube.list(eventResource, { namespace: world.namespace });
    expect(events.length).toBeGreaterThan(0);
    const objects = [await world.list("GpuEndpoint"), await world.list("Account"), events];
    const shown = [...objects.map((list) => JSON.stringify(list)), operator.log()];
    for (const text of shown) expect(text).not.toMatch(/s3cr3t|foreign/);
  });

  it.concurrent("a missing key of a Secret stalls the endpoint by name, and its coming releases it", async () => {
    await world.apply({ apiVersion: "v1", kind: "Secret", metadata: { name: "later" }, stringData: { other: "x" } });
    const env = [{ name: "TOKEN", valueFrom: { secretKeyRef: { name: "later", key: "hub" } } }];
    await world.apply(manifest("endpoint", { env }, "late"));
    const stalled = await waitForCondition(world, "GpuEndpoint", "late", "Stalled");
    expect(condition(stalled, "Stalled")).toMatchObject({
      reason: "SecretKeyMissing",
      message: expect.stringContaining(
        `Secret ${world.namespace}/later has no key "hub": add it: kubectl patch secret`,
      ),
    });
    await world.patch("Secret", "later", { stringData: { hub: "there" } });
    const ready = await waitForCondition(world, "GpuEndpoint", "late", "Ready");
    expect(condition(ready, "Stalled")).toBeUndefined();
  });

  it.concurrent.each([
    ["SpeechJob", "hd", {}, "Audio"],
    ["SpeechJob", "turbo", {}, "Audio"],
    ["VideoJob", "image", {}, "Video"],
    ["VideoJob", "reference", {}, "Video"],
  ] as const)("a %s (%s) completes with a URL that works", async (kind, variant, change, result) => {
    const name = `job-${variant}`;
    await world.apply(manifest(variant, change, name));
    const done = await waitForCondition(world, kind, name, "Complete");
    expect(done.status).toMatchObject({ phase: "Succeeded", attempts: 1 });
    expect(condition(done, "Ready")?.status).toBe("True");
    expect(condition(done, "Reconciling")).toBeUndefined();
    const [first] = (done.status?.results ?? []) as { kind: string; url: string; expiresAt: string }[];
    expect(first?.kind).toBe(result);
    expect(Date.parse(first?.expiresAt ?? "")).toBeGreaterThan(Date.now());
    const answer = await fetch(first?.url ?? "");
    expect(answer.status).toBe(200);
    expect((await answer.arrayBuffer()).byteLength).toBeGreaterThan(100);
  });

  it.concurrent("a remote task that fails is Failed, Stalled and not Ready, in the service's words", async () => {
    await world.apply(manifest("hd", { text: "please fail" }, "failing"));
    const failed = await waitForCondition(world, "SpeechJob", "failing", "Failed");
    expect(condition(failed, "Stalled")).toMatchObject({ status: "True", reason: "RemoteTaskFailed" });
    expect(condition(failed, "Ready")?.status).toBe("False");
    expect(failed.status?.phase).toBe("Failed");
  });

  it.concurrent("backoffLimit pays again after a failed task, and no more often", async () => {
    await world.apply(manifest("hd", { text: "please fail twice", backoffLimit: 1 }, "retried"));
    const failed = await waitForCondition(world, "SpeechJob", "retried", "Failed");
    expect(condition(failed, "Failed")?.reason).toBe("BackoffLimitExceeded");
    expect(failed.status?.attempts).toBe(2);
    const submits = (await world.audit("submitSpeech")).filter(({ body }) => body?.text === "please fail twice");
    expect(submits).toHaveLength(2);
  });

  it.concurrent("a suspended job sends nothing until it is released", async () => {
    await world.apply(manifest("hd", { text: "wait for me", suspend: true }, "held"));
    await waitForCondition(world, "SpeechJob", "held", "Suspended");
    expect((await world.audit("submitSpeech")).filter(({ body }) => body?.text === "wait for me")).toEqual([]);
    await world.patch("SpeechJob", "held", { spec: { suspend: false } });
    const done = await waitForCondition(world, "SpeechJob", "held", "Complete");
    expect(condition(done, "Suspended")?.status).toBe("False");
  });

  it("the API key is in no object or log", async () => {
    const shown = [
      JSON.stringify(await world.list("Account")),
      JSON.stringify(await world.list("GpuEndpoint")),
      JSON.stringify(await world.list("SpeechJob")),
      operator.log(),
    ];
    for (const text of shown) expect(text).not.toContain(API_KEY);
  });
});
