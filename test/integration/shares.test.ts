/**
 * A team of a shared account that knows everything about another one: names, identifiers and ConfigMaps. What its role refuses is in
 * chart-policies.test.ts; here it writes what it may write, and the operator sends nothing of it.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { artifactStoreResource, clusterAccountResource, gpuEndpointResource } from "../../src/api/v1alpha1/kinds.ts";
import { isNotFound } from "../../src/kube/errors.ts";
import { configMapResource, namespaceResource } from "../../src/kube/resource.ts";
import type { KubeObject } from "../../src/kube/types.ts";
import { createByHand } from "../support/command-line.ts";
import { type Change, manifest } from "../support/manifests.ts";
import { oddEndpoints } from "../support/odd-endpoints.ts";
import { type AnyObject, condition, createWorld, eventually, type World, waitForCondition } from "../support/world.ts";

let world: World;
let root: string;
/** The namespace of the other team. */
let victim: string;
/** The endpoint of the other team. */
let endpointID: string;
/** An endpoint that somebody made without Mooring. */
let unmanagedID: string;
let accountRef: { kind: string; name: string };

const shared = { exportTo: { configMap: { name: "mooring-share" } } };

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "mooring-shares-"));
  world = await createWorld("attacker", { account: null });
  const { kube, namespace } = world;
  victim = `${namespace}-victim`;
  accountRef = { kind: "ClusterAccount", name: `of-${namespace}` };
  await kube.create(namespaceResource, {}, { metadata: { name: victim, labels: { team: victim } }, spec: {} });
  await kube.mergePatch(namespaceResource, { name: namespace }, { metadata: { labels: { team: namespace } } });
  await kube.create(clusterAccountResource, {}, {
    apiVersion: "mooring.dev/v1alpha1",
    kind: "ClusterAccount",
    metadata: { name: accountRef.name },
    spec: {
      baseURL: world.simulator.url,
      apiKeySecretRef: { namespace, name: "key", key: "apiKey" },
      rateLimit: { requestsPerSecond: 2000, burst: 2000 },
      shares: [
        {
          name: "attacker",
          namespaceSelector: { matchLabels: { team: namespace } },
          limits: { models: ["speech-2.6-hd"], maxWorkers: 2, products: ["gpu-4090-24g"] },
          allowed: { voices: ["narrator"] },
          ...shared,
        },
        {
          name: "victim",
          namespaceSelector: { matchLabels: { team: victim } },
          limits: { concurrentTasks: 77, monthlyLimit: "7777" },
          allowed: {
            volumes: ["storage-of-victim"],
            registryAuths: ["auth-of-victim"],
            clusters: ["cluster-of-victim"],
            regions: ["region-1"],
            voices: ["voice-of-victim"],
          },
          callback: { url: "https://hooks.victim.example.com/done", secretRef: { name: "hook", key: "secret" } },
          ...shared,
        },
      ],
    },
  } as KubeObject);
  await kube.create(artifactStoreResource, { namespace: victim }, {
    ...manifest("volumeStore", {}, "store-of-victim"),
    metadata: { name: "store-of-victim", namespace: victim },
  } as KubeObject);
  await kube.create(gpuEndpointResource, { namespace: victim }, {
    ...manifest("endpoint", { accountRef, appName: `app-of-${victim}` }, "served"),
    metadata: { name: "served", namespace: victim },
  } as KubeObject);
  await world.apply({ kind: "ArtifactStore", metadata: { name: "own" }, spec: { volume: { path: "own" } } });
  await world.startOperator({
    args: [`--watch-namespaces=${namespace},${victim}`, `--artifact-root=${root}`],
  });
  endpointID = await eventually("the victim has an endpoint", async () => {
    const found = await kube.get<AnyObject>(gpuEndpointResource, { namespace: victim, name: "served" });
    const id = found.status?.["endpointID"];
    return condition(found, "Ready")?.status === "True" && typeof id === "string" ? id : undefined;
  });
  unmanagedID = await createByHand(world, { ...oddEndpoints(1)[0]?.create, name: "unmanaged" });
  await waitForCondition(world, "ArtifactStore", "own", "Ready");
});
afterAll(async () => {
  await rm(root, { recursive: true, force: true });
  for (const [resource, name] of [
    [clusterAccountResource, accountRef.name],
    [namespaceResource, victim],
  ] as const) {
    await world.kube.delete(resource, { name }).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
  }
});

const changes = async () => (await world.audit()).filter(({ method }) => method !== "GET");
const text = (name: string) => ({ voiceSetting: { voiceID: name } });
const WORKERS = { min: 0, max: 3 };
/** It does not tell whose. */
const BOUND = /another GpuEndpoint in this cluster/;

type Row = { what: string; variant: Parameters<typeof manifest>[0]; spec: () => Change; reason: string; says: RegExp };
const rows: Row[] = [
  {
    what: "mounts another team's storage",
    variant: "endpoint",
    spec: () => ({
      volumes: [{ type: "network", id: "storage-of-victim", mountPath: "/data" }],
      clusterID: "cluster-of-victim",
    }),
    reason: "NotAllowedByShare",
    says: /^volumes is storage-of-victim, and share attacker allows none \(allowed\.volumes\)/,
  },
  {
    what: "pulls with another team's credential",
    variant: "endpoint",
    spec: () => ({ registryAuthID: "auth-of-victim" }),
    reason: "NotAllowedByShare",
    says: /^registryAuthID is auth-of-victim, and share attacker allows none \(allowed\.registryAuths\)/,
  },
  {
    what: "names another team's cluster",
    variant: "endpoint",
    spec: () => ({ clusterID: "cluster-of-victim" }),
    reason: "NotAllowedByShare",
    says: /^clusterID is cluster-of-victim, and share attacker allows none \(allowed\.clusters\)/,
  },
  {
    what: "takes more workers than its share",
    variant: "endpoint",
    spec: () => ({ workers: WORKERS }),
    reason: "NotAllowedByShare",
    says: /^workers\.max is 3, and share attacker allows 2/,
  },
  {
    what: "takes another product",
    variant: "endpoint",
    spec: () => ({ products: [{ id: "gpu-h100" }] }),
    reason: "NotAllowedByShare",
    says: /^products is gpu-h100, and share attacker allows gpu-4090-24g/,
  },
  {
    what: "leaves an endpoint behind that no share counts",
    variant: "endpoint",
    spec: () => ({ deletionPolicy: "Retain" }),
    reason: "NotAllowedByShare",
    says: /^deletionPolicy is Retain, and share attacker limits the workers/,
  },
  {
    what: "adopts another team's endpoint, had its role allowed it",
    variant: "endpoint",
    spec: () => ({ adoption: { endpointID, mode: "Override" } }),
    reason: "AlreadyBound",
    says: BOUND,
  },
  {
    what: "adopts an endpoint of a region that is not its own, had its role allowed it",
    variant: "endpoint",
    spec: () => ({ adoption: { endpointID: unmanagedID, mode: "Override" } }),
    reason: "NotAllowedByShare",
    says: /^region is region-1, and share attacker allows none \(allowed\.regions\)/,
  },
  {
    what: "observes another team's endpoint by its app name, had its role allowed it",
    variant: "endpoint",
    spec: () => ({ appName: `app-of-${victim}`, managementPolicy: "Observe" }),
    reason: "AlreadyBound",
    says: BOUND,
  },
  {
    what: "takes another team's app name",
    variant: "endpoint",
    spec: () => ({ appName: `app-of-${victim}` }),
    reason: "AlreadyBound",
    says: BOUND,
  },
  {
    what: "speaks with another team's voice",
    variant: "hd",
    spec: () => text("voice-of-victim"),
    reason: "NotAllowedByShare",
    says: /^voiceSetting\.voiceID is voice-of-victim, and share attacker allows narrator \(allowed\.voices\)/,
  },
  {
    what: "mixes in another team's voice",
    variant: "turbo",
    spec: () => ({ voiceSetting: { voiceID: null }, timbreWeights: [{ voiceID: "voice-of-victim", weight: 1 }] }),
    reason: "NotAllowedByShare",
    says: /timbreWeights\[\]\.voiceID is voice-of-victim/,
  },
  {
    what: "uses a model that its share does not have",
    variant: "image",
    spec: () => ({}),
    reason: "NotAllowedByShare",
    says: /^model is vid-i2v, and share attacker allows speech-2\.6-hd \(limits\.models\)/,
  },
  {
    what: "reads a text from another team's store",
    variant: "hd",
    spec: () => ({
      ...text("narrator"),
      text: null,
      textFrom: { object: { storeRef: { name: "store-of-victim" }, key: "a.txt" } },
    }),
    reason: "StoreNotReady",
    says: /ArtifactStore attacker-\w+\/store-of-victim does not exist/,
  },
  {
    what: "writes into another team's store",
    variant: "hd",
    spec: () => ({ ...text("narrator"), output: { storeRef: { name: "store-of-victim" } } }),
    reason: "StoreNotReady",
    says: /ArtifactStore attacker-\w+\/store-of-victim does not exist/,
  },
];

it.each(rows)("a team that $what is refused, and nothing is sent", async ({ what, variant, spec, reason, says }) => {
  const before = (await changes()).length;
  const name = what.replaceAll(/\W+/g, "-").toLowerCase().slice(0, 50).replace(/-$/, "");
  const object = manifest(variant, { accountRef, ...spec() }, name);
  await world.apply(object);
  const told = await eventually("it is told", async () => {
    const found = condition(await world.get(object.kind, name), "Ready");
    return found?.status === "False" && found.reason !== "Pending" && found.reason !== "Progressing" && found;
  });
  expect(told).toMatchObject({ reason, message: expect.stringMatching(says) });
  expect(told.message).not.toContain(`${victim}/`);
  expect((await changes()).slice(before)).toEqual([]);
  await world.remove(object.kind, name);
});

it("the items of a batch are held to the same lists, each as a job", async () => {
  const template = { speech: { model: "speech-2.6-hd", voiceSetting: { voiceID: "narrator" } } };
  const items = { inline: [{ text: "one", voiceSetting: { voiceID: "voice-of-victim" } }] };
  const output = { storeRef: { name: "own" } };
  await world.apply(manifest("batch", { accountRef, template, items, output }, "smuggled"));
  const held = await eventually("its job is told", async () => {
    const jobs = await world.list("SpeechJob");
    const job = jobs.find(({ metadata }) => metadata.labels?.["mooring.dev/batch"] === "smuggled");
    const found = job && condition(job, "Ready");
    return found?.reason === "NotAllowedByShare" && found;
  });
  expect(held.message).toContain("voiceSetting.voiceID is voice-of-victim, and share attacker allows narrator");
  expect(await world.audit("submitSpeech")).toEqual([]);
});

it("nothing that a team can read in its namespace tells of another share", async () => {
  const own = await eventually("the team is shown its share", () =>
    world.kube
      .get<KubeObject & { data: Record<string, string> }>(configMapResource, {
        namespace: world.namespace,
        name: "mooring-share",
      })
      .catch(() => undefined),
  );
  expect(own.data).toMatchObject({ share: "attacker", models: "speech-2.6-hd", "allowed.volumes": "none" });
  const shown = await Promise.all(["ConfigMap", "Event"].map((kind) => world.list(kind)));
  const all = JSON.stringify([own, shown]);
  for (const secret of ["hooks.victim", "7777", `"77"`, victim]) {
    expect(all.replaceAll(`app-of-${victim}`, ""), secret).not.toContain(secret);
  }
});
