import { expect, it } from "vitest";
import { clusterAccountResource } from "../../../src/api/v1alpha1/kinds.ts";
import { configMapResource, namespaceResource } from "../../../src/kube/resource.ts";
import type { KubeObject } from "../../../src/kube/types.ts";
import { manifest } from "../../support/manifests.ts";
import { type AnyObject, condition } from "../../support/world.ts";
import { type Stage, waitForCondition } from "../stage/stage.ts";
import { startedStage } from "../stage/started.ts";

const ready = (object: AnyObject) => condition(object, "Ready");
const accountRef = { kind: "ClusterAccount", name: "shared" };
const TEAM = { matchLabels: { team: "film" } };
const WORKERS = { min: 0, max: 2, idleTimeoutSeconds: 60, maxConcurrency: 4, gpus: 1, requestTimeoutSeconds: 120 };

/** A ClusterAccount at the service of the stage, whose namespace has the label of the share. */
async function sharedAccount(world: Stage, share: object, spec: object = {}, others: object[] = []): Promise<void> {
  const { kube, namespace } = world;
  await kube.mergePatch(namespaceResource, { name: namespace }, { metadata: { labels: { team: "film" } } });
  const apiKeySecretRef = { namespace, name: "key", key: "apiKey" };
  const shares = [{ name: "film", namespaceSelector: TEAM, ...share }, ...others];
  await kube.create(
    clusterAccountResource,
    {},
    {
      apiVersion: "mooring.dev/v1alpha1",
      kind: "ClusterAccount",
      metadata: { name: "shared" },
      spec: { baseURL: "http://service.invalid", apiKeySecretRef, shares, ...spec },
    },
  );
}

async function told(world: Stage, kind: string, name: string, reason: string): Promise<string> {
  const object = await world.eventually(`${kind} ${name} is told ${reason}`, async () => {
    const found = await world.get(kind, name);
    return ready(found)?.reason === reason ? found : undefined;
  });
  return ready(object)?.message ?? "";
}

it("a namespace that no share selects sends nothing; labeled, it continues", async () => {
  const world = await startedStage({ account: null });
  await sharedAccount(world, { namespaceSelector: { matchLabels: { team: "other" } } });
  await world.apply(manifest("image", { accountRef }, "said"));
  await world.apply(manifest("endpoint", { accountRef }, "a"));
  expect(await told(world, "VideoJob", "said", "ShareNotFound")).toContain("none selects namespace");
  await told(world, "GpuEndpoint", "a", "NotAllowedByShare");
  const account = await waitForCondition(world, "ClusterAccount", "shared", "Ready");
  expect(condition(account, "SharesValid")).toMatchObject({ status: "False", reason: "SharesInvalid" });
  expect((await world.audit()).filter(({ method }) => method !== "GET")).toEqual([]);
  const labels = { metadata: { labels: { team: "other" } } };
  await world.kube.mergePatch(namespaceResource, { name: world.namespace }, labels);
  await waitForCondition(world, "VideoJob", "said", "Ready");
  await waitForCondition(world, "GpuEndpoint", "a", "Ready");
  await world.eventually("the account is told", async () => {
    const found = await world.get("ClusterAccount", "shared");
    return condition(found, "SharesValid")?.status === "True" ? found : undefined;
  });
});

it("a team that knows the volume, the credential and the voice of another one gets none of them", async () => {
  const world = await startedStage({ account: null });
  await sharedAccount(world, { allowed: { voices: ["narrator"] } });
  const volumes = [{ type: "network", id: "storage-of-b", mountPath: "/data" }];
  await world.apply(manifest("endpoint", { accountRef, volumes, clusterID: "cluster-1" }, "mounts"));
  await world.apply(manifest("endpoint", { accountRef, registryAuthID: "auth-of-b" }, "pulls"));
  await world.apply(manifest("hd", { accountRef, voiceSetting: { voiceID: "voice-of-b" } }, "speaks"));
  expect(await told(world, "GpuEndpoint", "mounts", "NotAllowedByShare")).toBe(
    "volumes is storage-of-b, and share film allows none (allowed.volumes): change it; clusterID is cluster-1, and share film allows none (allowed.clusters): change it",
  );
  await told(world, "GpuEndpoint", "pulls", "NotAllowedByShare");
  await told(world, "SpeechJob", "speaks", "NotAllowedByShare");
  expect((await world.audit()).filter(({ method }) => method !== "GET")).toEqual([]);

  // An endpoint that exists does not get them by an update either, and its other fields are changed.
  await world.apply(manifest("endpoint", { accountRef }, "grows"));
  await waitForCondition(world, "GpuEndpoint", "grows", "Ready");
  await world.patch("GpuEndpoint", "grows", { spec: { registryAuthID: "auth-of-b" } });
  await told(world, "GpuEndpoint", "grows", "NotAllowedByShare");
  expect(await world.audit("updateEndpoint")).toEqual([]);
  await world.patch("GpuEndpoint", "grows", { spec: { registryAuthID: null, command: "serve" } });
  await world.eventually("the command is sent", async () => (await world.audit("updateEndpoint"))[0]);
});

it("the workers of all endpoints of the share stay below its limit, in whatever order they are asked for", async () => {
  const world = await startedStage({ account: null });
  await sharedAccount(world, { limits: { maxWorkers: 5 } });
  for (const name of ["a", "b", "c"]) {
    await world.apply(manifest("endpoint", { accountRef, workers: WORKERS }, name));
  }
  const waiting = await world.eventually("two exist, and one waits", async () => {
    const found = await Promise.all(["a", "b", "c"].map((name) => world.get("GpuEndpoint", name)));
    const held = found.filter((one) => ready(one)?.reason === "ShareLimited");
    return held.length === 1 && found.filter((one) => ready(one)?.status === "True").length === 2 ? held[0] : undefined;
  });
  expect(ready(waiting)?.message).toBe(
    "Share film allows 5 workers for all endpoints (limits.maxWorkers): others have 4, and this one asks for 2",
  );
  expect(await world.audit("createEndpoint")).toHaveLength(2);
  const [first = "", second = ""] = ["a", "b", "c"].filter((name) => name !== waiting.metadata.name);
  await world.patch("GpuEndpoint", second, { spec: { suspend: true } });
  await waitForCondition(world, "GpuEndpoint", waiting.metadata.name, "Ready");

  // Two more workers do not fit. A change of another field is sent.
  await world.patch("GpuEndpoint", first, { spec: { workers: { max: 4 }, command: "serve" } });
  await world.eventually("the raise waits", async () => {
    const found = await world.get("GpuEndpoint", first);
    return condition(found, "Synced")?.reason === "ShareLimited" ? found : undefined;
  });
  const updates = (await world.audit("updateEndpoint")).map(
    ({ body }) => body as { image: { command?: string }; workerConfig: { maxNum: number } },
  );
  expect(
    updates.filter(({ image }) => image.command === "serve").map(({ workerConfig }) => workerConfig.maxNum),
  ).toEqual([2]);
});

it("each namespace is shown its own share and no other one, and a ConfigMap of the team is left alone", async () => {
  const world = await startedStage({ account: null });
  const shown = { exportTo: { configMap: { name: "mooring-share" } } };
  for (const name of ["film-b", "radio"]) {
    const labels = { team: name === "radio" ? "radio" : "film" };
    await world.kube.create(namespaceResource, {}, { metadata: { name, labels }, spec: {} });
  }
  const own = { metadata: { name: "mooring-share", namespace: "film-b" }, spec: undefined, data: { share: "ours" } };
  await world.kube.create(configMapResource, { namespace: "film-b" }, own);
  const radio = {
    name: "radio",
    namespaceSelector: { matchLabels: { team: "radio" } },
    limits: { concurrentTasks: 1 },
    allowed: { volumes: ["storage-of-radio"] },
    ...shown,
  };
  const limits = { concurrentTasks: 4, maxWorkers: 9, monthlyLimit: "50" };
  await sharedAccount(world, { ...shown, limits }, {}, [radio]);
  await world.apply(manifest("endpoint", { accountRef, workers: WORKERS }, "a"));
  await waitForCondition(world, "GpuEndpoint", "a", "Ready");
  const dataIn = async (namespace: string) =>
    (
      await world.kube.get<KubeObject & { data: Record<string, string> }>(configMapResource, {
        namespace,
        name: "mooring-share",
      })
    ).data;
  const data = await world.eventually("the team sees its workers", async () => {
    const found = await dataIn(world.namespace);
    return found["workers"] === "2 of 9" ? found : undefined;
  });
  expect(data).toMatchObject({ share: "film", tasks: "0 of 4", thisMonth: "0 of 50 yuan", "allowed.volumes": "none" });
  expect(JSON.stringify(data)).not.toMatch(/radio|film-b/);
  expect(await dataIn("radio")).toMatchObject({
    share: "radio",
    tasks: "0 of 1",
    "allowed.volumes": "storage-of-radio",
  });
  expect(await dataIn("film-b")).toEqual({ share: "ours" });
});

it("a share that is removed while its work runs stops nothing that is paid for", async () => {
  const world = await startedStage({ account: null });
  await sharedAccount(world, {});
  await world.apply(manifest("endpoint", { accountRef }, "a"));
  await waitForCondition(world, "GpuEndpoint", "a", "Ready");
  await world.apply(manifest("image", { accountRef }, "film"));
  await world.eventually("the task runs", async () => {
    const { phase } = (await world.get("VideoJob", "film")).status as { phase?: string };
    return phase === "Queued" || phase === "Running" ? phase : undefined;
  });
  await world.kube.mergePatch(
    clusterAccountResource,
    { name: "shared" },
    { spec: { shares: [{ name: "film", namespaceSelector: { matchLabels: { team: "nobody" } } }] } },
  );
  await world.eventually("the account has the change", async () => {
    const found = await world.get("ClusterAccount", "shared");
    return condition(found, "SharesValid")?.status === "False" ? found : undefined;
  });
  await world.apply(manifest("image", { accountRef }, "late"));
  await told(world, "VideoJob", "late", "ShareNotFound");
  await waitForCondition(world, "VideoJob", "film", "Complete");
  expect(ready(await world.get("GpuEndpoint", "a"))?.status).toBe("True");
  await world.patch("GpuEndpoint", "a", { spec: { command: "other" } });
  await world.eventually("what costs nothing more is still sent", async () => (await world.audit("updateEndpoint"))[0]);
});
