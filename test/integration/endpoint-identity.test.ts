import { beforeAll, describe, expect, inject, it } from "vitest";
import { gpuEndpointResource } from "../../src/api/v1alpha1/kinds.ts";
import { isConflict } from "../../src/kube/errors.ts";
import type { KubeObject } from "../../src/kube/types.ts";
import { runProgram } from "../../tools/cluster/run-program.ts";
import { manifest } from "../support/manifests.ts";
import {
  type AnyObject,
  API_KEY,
  condition,
  createWorld,
  eventually,
  type World,
  waitForCondition,
} from "../support/world.ts";

type Scale = KubeObject<{ replicas: number }, { replicas: number; selector: string }> & {
  status: { replicas: number; selector: string };
};
type Remote = {
  id: string;
  parameters: { appName: string; image: { image: string }; workerConfig: { minNum: number; maxNum: number } };
};

const IMAGE = "registry.example.com/models/echo:1.0";
const THEIRS = "registry.example.com/theirs:2";

/** An endpoint that somebody else made, equal to the plain manifest but for its names and `image`. */
async function foreign(world: World, appName: string, image = IMAGE): Promise<string> {
  const endpoint = {
    name: appName,
    appName,
    workerConfig: { minNum: 1, maxNum: 2, freeTimeout: 60, maxConcurrent: 4, gpuNum: 1, requestTimeout: 120 },
    ports: [{ port: "8000" }],
    policy: { type: "queue", value: 30 },
    image: { image },
    products: [{ id: "gpu-4090-24g" }],
    rootfsSize: 100,
    volumeMounts: [],
    healthy: { path: "/health" },
  };
  const answer = await fetch(`${world.simulator.url}/gpu-instance/openapi/v1/endpoint/create`, {
    method: "POST",
    headers: { authorization: `Bearer ${API_KEY}`, "content-type": "application/json" },
    body: JSON.stringify({ endpoint }),
  });
  return ((await answer.json()) as { id: string }).id;
}

const remoteOf = async (world: World, id: unknown) =>
  ((await world.state()).endpoints as Remote[]).find((one) => one.id === id);
const change = (world: World, id: unknown, patch: object) => world.control("POST", `/__state/endpoints/${id}`, patch);
const updatesOf = async (world: World, id: unknown) =>
  (await world.audit("updateEndpoint")).filter(({ body }) => body?.id === id);
const createsNamed = async (world: World, appName: string) =>
  (await world.audit("createEndpoint")).filter(({ body }) => JSON.stringify(body).includes(`"${appName}"`));
const request = (world: World, name: string, value: string, key = "mooring.dev/reconcile-requested-at") =>
  world.patch("GpuEndpoint", name, { metadata: { annotations: { [key]: value } } });
const handled = (world: World, name: string, value: string) =>
  eventually(`${name} has handled ${value}`, async () => {
    const object = await world.get("GpuEndpoint", name);
    return object.status?.lastHandledReconcileAt === value && object;
  });
const fields = (object: AnyObject) => ((object.status?.drift ?? []) as { field: string }[]).map(({ field }) => field);

describe.concurrent("whose endpoint it is, and who has the last word on it", () => {
  let world: World;
  beforeAll(async () => {
    world = await createWorld("identity", { account: { endpoints: { syncInterval: "2s" } } });
    await world.startOperator();
    await waitForCondition(world, "Account", "default", "Ready");
  });

  it("Match takes over an endpoint that equals the spec, without a write", async () => {
    const id = await foreign(world, "match-same");
    const adoption = { endpointID: id, mode: "Match" };
    await world.apply(manifest("endpoint", { name: "match-same", adoption }, "match-same"));
    const ready = await waitForCondition(world, "GpuEndpoint", "match-same", "Ready");
    expect(ready.status?.endpointID).toBe(id);
    expect(condition(ready, "Synced")?.status).toBe("True");
    expect([await updatesOf(world, id), await createsNamed(world, "match-same")]).toEqual([[], [expect.anything()]]);
  });

  it("Match refuses one that differs and says in which fields, until the remote equals the spec", async () => {
    const id = await foreign(world, "match-other", THEIRS);
    const adoption = { endpointID: id, mode: "Match" };
    await world.apply(manifest("endpoint", { name: "match-other", adoption }, "match-other"));
    const stalled = await waitForCondition(world, "GpuEndpoint", "match-other", "Stalled");
    expect(condition(stalled, "Stalled")?.reason).toBe("AdoptionMismatch");
    expect(condition(stalled, "Stalled")?.message).toContain("differs in image: ");
    expect(JSON.stringify(stalled.status)).not.toContain(THEIRS);
    expect([await updatesOf(world, id), stalled.status?.endpointID]).toEqual([[], undefined]);
    await change(world, id, { image: { image: IMAGE } });
    await request(world, "match-other", "now");
    const ready = await waitForCondition(world, "GpuEndpoint", "match-other", "Ready");
    expect([ready.status?.endpointID, condition(ready, "Stalled")]).toEqual([id, undefined]);
  });

  it("Override takes one over and updates it once; its app name stays", async () => {
    const id = await foreign(world, "override", THEIRS);
    const adoption = { endpointID: id, mode: "Override" };
    await world.apply(manifest("endpoint", { adoption }, "override"));
    const synced = await waitForCondition(world, "GpuEndpoint", "override", "Synced");
    expect(synced.status?.endpointID).toBe(id);
    expect((await remoteOf(world, id))?.parameters).toMatchObject({ appName: "override", image: { image: IMAGE } });
    expect(await updatesOf(world, id)).toHaveLength(1);
  });

  it("one that does not exist is not created", async () => {
    await world.apply(manifest("endpoint", { adoption: { endpointID: "nowhere", mode: "Override" } }, "nowhere"));
    const stalled = await waitForCondition(world, "GpuEndpoint", "nowhere", "Stalled");
    expect(condition(stalled, "Stalled")?.reason).toBe("AdoptionNotFound");
    expect(
      ((await world.state()).endpoints as Remote[]).filter((one) => one.parameters.appName.startsWith("nowhere")),
    ).toEqual([]);
  });

  it("an app name that belongs to somebody else is not seized", async () => {
    const id = await foreign(world, "taken", THEIRS);
    await world.apply(manifest("endpoint", { appName: "taken" }, "takes"));
    const stalled = await waitForCondition(world, "GpuEndpoint", "takes", "Stalled");
    expect(condition(stalled, "Stalled")).toMatchObject({ reason: "AppNameTaken" });
    expect(condition(stalled, "Stalled")?.message).toContain(id);
    expect(await createsNamed(world, "taken")).toHaveLength(1);
    expect(await updatesOf(world, id)).toEqual([]);
  });

  it("Observe reports and never writes; Full then puts it right in one update", async () => {
    const id = await foreign(world, "watched", THEIRS);
    const adoption = { endpointID: id, mode: "Override" };
    await world.apply(manifest("endpoint", { name: "watched", adoption, managementPolicy: "Observe" }, "watched"));
    const observed = await waitForCondition(world, "GpuEndpoint", "watched", "Synced", "False");
    expect([fields(observed), observed.metadata.finalizers ?? []]).toEqual([["image"], []]);
    expect(condition(observed, "Ready")?.status).toBe("True");
    await request(world, "watched", "look");
    await handled(world, "watched", "look");
    expect(await updatesOf(world, id)).toEqual([]);
    await world.patch("GpuEndpoint", "watched", { spec: { managementPolicy: "Full" } });
    await waitForCondition(world, "GpuEndpoint", "watched", "Synced");
    expect(await updatesOf(world, id)).toHaveLength(1);
  });

  it("Report shows what differs, ignoreDrift hides it, and neither writes; Remediate does", async () => {
    await world.apply(manifest("endpoint", { driftPolicy: "Report", ignoreDrift: ["workers"] }, "reported"));
    const { status } = await waitForCondition(world, "GpuEndpoint", "reported", "Ready");
    await change(world, status?.endpointID, { image: { image: THEIRS }, workerConfig: { maxNum: 7 } });
    const drifted = await waitForCondition(world, "GpuEndpoint", "reported", "Synced", "False");
    expect([fields(drifted), condition(drifted, "Ready")?.status]).toEqual([["image"], "True"]);
    // A change of another policy asks for nothing at the remote, so nothing is sent.
    await world.patch("GpuEndpoint", "reported", { spec: { deletionPolicy: "Retain" } });
    await eventually(
      "it is observed",
      async () => (await world.get("GpuEndpoint", "reported")).status?.observedGeneration === 2,
    );
    expect(await updatesOf(world, status?.endpointID)).toEqual([]);
    await world.patch("GpuEndpoint", "reported", { spec: { driftPolicy: "Remediate" } });
    await waitForCondition(world, "GpuEndpoint", "reported", "Synced");
    const remote = await remoteOf(world, status?.endpointID);
    expect(remote?.parameters).toMatchObject({ image: { image: IMAGE }, workerConfig: { maxNum: 7 } });
  });

  it("a fight is given up after three rounds, and taken up by a request and by a changed spec", async () => {
    await world.apply(manifest("endpoint", {}, "fought"));
    const { status } = await waitForCondition(world, "GpuEndpoint", "fought", "Ready");
    const id = status?.endpointID;
    let fighting = true;
    /** Only what a read showed can be seen to be reverted. */
    const wasRead = async () => {
      const sent = (await updatesOf(world, id)).at(-1)?.seq ?? 0;
      const reads = (await world.audit("getEndpoint")).filter(({ path }) => path.endsWith(String(id)));
      return (reads.at(-1)?.seq ?? 0) > sent;
    };
    const opponent = (async () => {
      while (fighting) {
        const remote = await remoteOf(world, id);
        const differs = remote?.parameters.image.image !== THEIRS;
        if (differs && (await wasRead())) await change(world, id, { image: { image: THEIRS } });
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    })();
    const givenUp = (rounds: number) =>
      eventually(
        `given up after ${rounds} rounds`,
        async () => {
          const synced = condition(await world.get("GpuEndpoint", "fought"), "Synced");
          return synced?.reason === "DriftFight" && (await updatesOf(world, id)).length === rounds;
        },
        90_000,
      );
    await givenUp(3);
    await request(world, "fought", "again");
    await handled(world, "fought", "again");
    await givenUp(6);
    fighting = false;
    await opponent;
    await world.patch("GpuEndpoint", "fought", { spec: { port: 8001 } });
    await waitForCondition(world, "GpuEndpoint", "fought", "Synced");
    expect((await remoteOf(world, id))?.parameters.image.image).toBe(IMAGE);
    expect(await updatesOf(world, id)).toHaveLength(7);
  });

  it.each(["mooring.dev/reconcile-requested-at", "reconcile.fluxcd.io/requestedAt"])(
    "%s reads the remote now",
    async (key) => {
      const name = key.startsWith("mooring") ? "asked" : "asked-by-flux";
      await world.apply(manifest("endpoint", {}, name));
      const { status } = await waitForCondition(world, "GpuEndpoint", name, "Ready");
      const reads = async () =>
        (await world.audit("getEndpoint")).filter(({ path }) => path.endsWith(String(status?.endpointID))).length;
      const before = await reads();
      await request(world, name, "2026-03-01T00:00:00Z", key);
      await handled(world, name, "2026-03-01T00:00:00Z");
      expect(await reads()).toBeGreaterThan(before);
    },
  );

  it("a paused endpoint is neither created nor put back, and says so", async () => {
    const annotations = { "mooring.dev/paused": "true" };
    const metadata: { name: string } & Record<string, unknown> = { name: "paused", annotations };
    await world.apply({ ...manifest("endpoint", {}, "paused"), metadata });
    const paused = await eventually("it says so", async () => {
      const object = await world.get("GpuEndpoint", "paused");
      return condition(object, "Ready")?.reason === "Paused" && object;
    });
    expect(paused.status?.endpointID).toBeUndefined();
    const pause = (value: string | null) =>
      world.patch("GpuEndpoint", "paused", { metadata: { annotations: { "mooring.dev/paused": value } } });
    await pause(null);
    const { status } = await waitForCondition(world, "GpuEndpoint", "paused", "Ready");
    await pause("true");
    await waitForCondition(world, "GpuEndpoint", "paused", "Synced", "Unknown");
    await change(world, status?.endpointID, { image: { image: THEIRS } });
    await request(world, "paused", "meanwhile");
    await eventually("two sweeps have passed", async () => {
      const since = (await world.audit("listEndpoints")).at(-1)?.seq ?? 0;
      return eventually("one", async () => ((await world.audit("listEndpoints")).at(-1)?.seq ?? 0) > since + 1);
    });
    expect(await updatesOf(world, status?.endpointID)).toEqual([]);
    expect((await world.get("GpuEndpoint", "paused")).status?.lastHandledReconcileAt).toBeUndefined();
    await pause(null);
    await waitForCondition(world, "GpuEndpoint", "paused", "Synced");
    expect(await updatesOf(world, status?.endpointID)).toHaveLength(1);
  });

  it("suspend stops it whoever owns its workers, and resume restores them", async () => {
    await world.apply(manifest("endpoint", { ignoreDrift: ["workers"] }, "slept"));
    const { status } = await waitForCondition(world, "GpuEndpoint", "slept", "Ready");
    const workers = async () => (await remoteOf(world, status?.endpointID))?.parameters.workerConfig;
    await change(world, status?.endpointID, { workerConfig: { maxNum: 5 } });
    await world.patch("GpuEndpoint", "slept", { spec: { suspend: true } });
    const stopped = await waitForCondition(world, "GpuEndpoint", "slept", "Stopped");
    expect(stopped.status?.workers).toMatchObject({ total: 0, ready: 0 });
    expect(await workers()).toMatchObject({ minNum: 0, maxNum: 0 });
    await world.patch("GpuEndpoint", "slept", { spec: { suspend: false } });
    const resumed = await waitForCondition(world, "GpuEndpoint", "slept", "Stopped", "False");
    expect(condition(resumed, "Stopped")?.reason).toBe("Resumed");
    expect(await workers()).toMatchObject({ minNum: 1, maxNum: 2 });
  });

  it("kubectl scale and a client of the scale subresource set workers.min, and read the ready workers", async () => {
    await world.apply(manifest("endpoint", {}, "scaled"));
    const { status } = await waitForCondition(world, "GpuEndpoint", "scaled", "Ready");
    const workers = async () => (await remoteOf(world, status?.endpointID))?.parameters.workerConfig;
    const args = ["--kubeconfig", inject("kubeconfig"), "--namespace", world.namespace];
    await runProgram(inject("kubectl"), [...args, "scale", "gpuendpoint/scaled", "--replicas=2"]);
    await eventually("two at the remote", async () => (await workers())?.minNum === 2);
    // As a HorizontalPodAutoscaler does it: read the scale, which needs a selector, change the replicas, put it back.
    const place = { namespace: world.namespace, name: "scaled", subresource: "scale" };
    const scale = await eventually("two ready workers", async () => {
      const now = await world.kube.get<Scale>(gpuEndpointResource, place);
      return now.status.replicas === 2 && now;
    });
    expect(scale.spec.replicas).toBe(2);
    expect(scale.status.selector).toMatch(/^mooring\.dev\/endpoint=[0-9a-f-]{36}$/);
    // The operator can write the status between the read and the update. The client then reads again, as a HorizontalPodAutoscaler does.
    const scaleTo = async (replicas: number): Promise<void> => {
      const read = await world.kube.get<Scale>(gpuEndpointResource, place);
      try {
        await world.kube.update(gpuEndpointResource, place, { ...read, spec: { replicas } });
      } catch (error) {
        if (!isConflict(error)) throw error;
        await scaleTo(replicas);
      }
    };
    await scaleTo(0);
    await eventually("none at the remote", async () => (await workers())?.minNum === 0);
    expect(await workers()).toMatchObject({ minNum: 0, maxNum: 2 });
    await expect(scaleTo(3)).rejects.toThrow("workers.min must not be above");
  });

  it("what a deletion leaves behind is counted and named by an event, and not touched", async () => {
    await world.apply(manifest("endpoint", { deletionPolicy: "Retain" }, "left-behind"));
    const { status } = await waitForCondition(world, "GpuEndpoint", "left-behind", "Ready");
    await world.remove("GpuEndpoint", "left-behind");
    const account = await eventually("it is counted", async () => {
      const object = await world.get("Account", "default");
      return (object.status?.endpoints as { orphaned?: number } | undefined)?.orphaned === 1 && object;
    });
    expect(account.status?.endpoints).toMatchObject({ total: expect.any(Number), managed: expect.any(Number) });
    const args = ["--kubeconfig", inject("kubeconfig"), "--namespace", world.namespace];
    const said = await eventually("the event", async () => {
      const text = await runProgram(inject("kubectl"), [...args, "get", "events", "-o=jsonpath={.items[*].message}"]);
      return text.includes("look generated") && text;
    });
    expect(said).toContain(`${status?.endpointID} (left-behind-`);
    expect(await updatesOf(world, status?.endpointID)).toEqual([]);
    expect(await remoteOf(world, status?.endpointID)).toBeDefined();
  });
});

it.concurrent("a lost create is found though the list's search knows no app names", async () => {
  const world = await createWorld("search", {
    simulator: { keywordSearches: ["id"], duplicateAppName: "Accept", timeScale: 1, listDelayMs: 5_000 },
    account: { endpoints: { syncInterval: "1h" } },
  });
  await world.control("POST", "/__faults", { kind: "resetAfter", operation: "createEndpoint" });
  await world.startOperator();
  await world.apply(manifest("endpoint", {}, "lost"));
  const ready = await waitForCondition(world, "GpuEndpoint", "lost", "Ready", "True", 150_000);
  expect(((await world.state()).endpoints as Remote[]).map(({ id }) => id)).toEqual([ready.status?.endpointID]);
});
