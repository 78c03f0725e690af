import {
  accountResource,
  artifactStoreResource,
  clusterAccountResource,
  gpuEndpointResource,
  mediaBatchResource,
  speechJobResource,
  videoJobResource,
} from "../../../src/api/v1alpha1/kinds.ts";
import { ANNOTATIONS } from "../../../src/api/v1alpha1/meta.ts";
import { BATCH_LABEL } from "../../../src/controllers/batch/child.ts";
import { namespaceResource, type Resource } from "../../../src/kube/resource.ts";
import type { CoreRequest } from "../../../src/simulator/core.ts";
import { base64 } from "../../support/manifests.ts";
import { type Json, objectAt, textAt } from "../api-server/json.ts";
import type { Cluster } from "./cluster.ts";
import type { InputPlan, ObjectPlan } from "./objects.ts";
import type { BatchPlan, Plan } from "./plan.ts";

export const secretResource: Resource = {
  group: "",
  version: "v1",
  plural: "secrets",
  kind: "Secret",
  namespaced: true,
};

export const API_KEY = "canary-key-000";
/** The key of another member of the account. */
export const FOREIGN_KEY = "canary-key-foreign";
export const ENV_VALUE = "canary-env-000";
/** The keys of Accounts without objects, which processes divide among them. */
export const spareKey = (index: number): string => `canary-key-spare-${index}`;
/** The account of such a key; undefined: it is another key. */
export function spareOf(authorization: string | undefined): string | undefined {
  const [, index] = /canary-key-(spare-\d+)$/.exec(authorization ?? "") ?? [];
  return index;
}
/** Every secret value contains one of these; nothing else does. */
export const CANARIES = ["canary-key", "canary-env"];

export const SYNC_MS = 20_000;
export const RATE = { requestsPerSecond: 5, burst: 10 };
/** Price of a task, 1/10000 yuan: a video of 5 s at 3,000 a second. */
export const TASK_PRICE = 15_000;

export const DELETE_OPERATION = { method: "POST", path: "/gpus/delete", idField: "id" } as const;

/** A request that costs or creates something. */
export const createsSomething = ({ method, path }: Pick<CoreRequest, "method" | "path">): boolean =>
  method === "POST" && !path.endsWith("/update") && path !== DELETE_OPERATION.path;

export const resourceOf = ({ kind }: Pick<ObjectPlan, "kind">): Resource =>
  ({ GpuEndpoint: gpuEndpointResource, SpeechJob: speechJobResource, VideoJob: videoJobResource })[kind];

/** Namespaces, Secrets and the account that every scenario starts with. */
export function createBase(cluster: Cluster, plan: Plan): void {
  for (const name of ["kube-system", "mooring", "platform", "team-a", "team-b"]) {
    cluster.create(namespaceResource, undefined, { metadata: { name } });
  }
  cluster.create(secretResource, "platform", { metadata: { name: "key" }, data: { apiKey: base64(API_KEY) } });
  for (const namespace of ["team-a", "team-b"]) {
    setEnvSecret(cluster, namespace, ENV_VALUE);
    const usesStores = plan.objects.some(({ stored, input }) => stored === true || input !== undefined);
    if (usesStores || (plan.batches ?? []).length > 0) createStore(cluster, namespace);
  }
  const budget =
    plan.budgetTasks === undefined
      ? {}
      : {
          budget: {
            monthlyLimit: String((plan.budgetTasks * TASK_PRICE) / 10_000),
            reservePerTask: String(TASK_PRICE / 10_000),
            action: "HoldNew",
          },
        };
  cluster.create(clusterAccountResource, undefined, {
    metadata: { name: "default" },
    spec: {
      ...connectionOf(plan),
      apiKeySecretRef: { namespace: "platform", name: "key", key: "apiKey" },
      ...(plan.maxConcurrentTasks === undefined ? {} : { maxConcurrentTasks: plan.maxConcurrentTasks }),
      ...budget,
    },
  });
  createSpares(cluster, plan);
}

/** Accounts of namespace `platform` without objects. */
function createSpares(cluster: Cluster, plan: Plan): void {
  for (let index = 0; index < plan.spares; index++) {
    const [name, apiKey] = [`spare-${index}`, base64(spareKey(index))];
    cluster.create(secretResource, "platform", { metadata: { name }, data: { apiKey } });
    const spec = { ...connectionOf(plan), apiKeySecretRef: { name, key: "apiKey" } };
    cluster.create(accountResource, "platform", { metadata: { name }, spec });
  }
}

const bucketOf = (namespace: string): string => `results-of-${namespace}`;

/** An object of the store of a namespace. */
export const uriOf = (namespace: string, key: string): string => `s3://${bucketOf(namespace)}/${key}`;

function createStore(cluster: Cluster, namespace: string): void {
  const data = { AWS_ACCESS_KEY_ID: base64("canary-env-id"), AWS_SECRET_ACCESS_KEY: base64("canary-env-secret") };
  cluster.create(secretResource, namespace, { metadata: { name: "bucket" }, data });
  const s3 = { bucket: bucketOf(namespace), credentialsSecretRef: { name: "bucket" } };
  cluster.create(artifactStoreResource, namespace, { metadata: { name: "results" }, spec: { s3 } });
}

export const SERVICE_URL = "http://service.invalid";

const connectionOf = ({ generation }: Pick<Plan, "generation">): Json => ({
  baseURL: SERVICE_URL,
  rateLimit: RATE,
  endpoints: { generation, syncInterval: `${SYNC_MS / 1_000}s`, deleteOperation: DELETE_OPERATION },
  billing: { interval: "60s", settleTime: "60s" },
});

/** Creates Account `default` of a namespace, with a Secret of its own. */
export function setDefaultAccount(
  cluster: Cluster,
  plan: Plan,
  { namespace, key }: { namespace: string; key: string },
): void {
  cluster.create(secretResource, namespace, { metadata: { name: "own-key" }, data: { apiKey: base64(key) } });
  const spec = { ...connectionOf(plan), apiKeySecretRef: { name: "own-key", key: "apiKey" } };
  cluster.create(accountResource, namespace, { metadata: { name: "default" }, spec });
}

/** @param key undefined: the Secret has none */
export function setKeySecret(cluster: Cluster, key: string | undefined): void {
  const apiKey = key === undefined ? null : base64(key);
  cluster.patch(secretResource, { namespace: "platform", name: "key" }, { data: { apiKey } });
}

export function setEnvSecret(cluster: Cluster, namespace: string, value: string): void {
  const data = { token: base64(value) };
  if (cluster.patch(secretResource, { namespace, name: "env" }, { data })) return;
  cluster.create(secretResource, namespace, { metadata: { name: "env" }, data });
}

/** The text by which a request of the service names its object. */
export const markOf = ({ serial }: Pick<ObjectPlan, "serial">): string => `object-${serial}.`;

/** The serial in a request's text, or undefined. */
export function serialIn(text: string): number | undefined {
  const found = /object-(\d+)\./.exec(text)?.[1];
  return found === undefined ? undefined : Number(found);
}

export function manifestOf(object: ObjectPlan): Json {
  const { kind, name } = object;
  const annotations: Json = { "example.com/serial": String(object.serial) };
  if (object.copiedToken) annotations[ANNOTATIONS.resubmitToken] = "copied";
  const metadata = { name, annotations };
  return { apiVersion: "mooring.dev/v1alpha1", kind, metadata, spec: specOf(object) };
}

/** A batch whose items name what is sent by their serials. */
export function batchManifest(batch: BatchPlan): Json {
  const { name, kind, serials, parallelism, synchronous, reuse } = batch;
  const marks = serials.map((serial) => markOf({ serial }));
  const speech = {
    model: synchronous ? "speech-2.6-turbo" : "speech-2.6-hd",
    voiceSetting: { voiceID: "announcer" },
    ...(synchronous ? { outputFormat: "hex" } : {}),
  };
  const video = { imageToVideo: { imageURL: "https://images.example.com/sea.png" } };
  const inline: Json[] = marks.map((text) => (kind === "SpeechJob" ? { text } : { imageToVideo: { prompt: text } }));
  const spec = {
    items: { inline },
    template: kind === "SpeechJob" ? { speech } : { video },
    output: { storeRef: { name: "results" }, keyPrefix: name },
    parallelism,
    maxHaltedIndexes: maxHaltedOf(batch),
    ...(reuse ? { reuse: "SameRequest" } : {}),
  };
  return { apiVersion: "mooring.dev/v1alpha1", kind: "MediaBatch", metadata: { name }, spec };
}

/** Default: a user decides before many jobs are halted. */
export const maxHaltedOf = ({ maxHalted = 3 }: Pick<BatchPlan, "maxHalted">): number => maxHalted;

export function batchIn(world: { cluster: Cluster }, batch: BatchPlan): Json | undefined {
  return world.cluster.get(mediaBatchResource, batch);
}

const TOKEN_ENV: Json = { name: "TOKEN", valueFrom: { secretKeyRef: { name: "env", key: "token" } } };

function specOf(object: ObjectPlan): Json {
  const mark = markOf(object);
  const prompt = object.fails ? `${mark} please fail` : mark;
  const { ttlSeconds } = object;
  const output = {
    ...(object.stored === true ? { output: { storeRef: { name: "results" } } } : {}),
    ...(object.reuse === true ? { reuse: "SameRequest" } : {}),
    ...(ttlSeconds === undefined ? {} : { ttlSecondsAfterFinished: ttlSeconds }),
  };
  if (object.kind === "VideoJob" && object.input !== undefined) {
    return { ...output, ...videoOf(prompt, object.input), backoffLimit: object.backoffLimit ?? 0 };
  }
  if (object.kind === "VideoJob") {
    return {
      ...output,
      imageToVideo: { prompt, imageURL: "https://images.example.com/sea.png" },
      backoffLimit: object.backoffLimit ?? 0,
    };
  }
  if (object.kind === "SpeechJob") {
    return {
      ...output,
      // The audio is in the response, and goes to the store as it comes.
      ...(object.synchronous && object.stored ? { outputFormat: "hex" } : {}),
      model: object.synchronous ? "speech-2.6-turbo" : "speech-2.6-hd",
      text: prompt,
      voiceSetting: { voiceID: "announcer" },
      backoffLimit: object.backoffLimit ?? 0,
    };
  }
  return {
    ...(object.appName === undefined ? {} : { appName: object.appName }),
    products: [{ id: "gpu-4090-24g" }],
    image: `registry.example.com/${mark}io/echo:1.0`,
    port: 8000,
    workers: { min: 1, max: 2, idleTimeoutSeconds: 60, maxConcurrency: 4, gpus: 1, requestTimeoutSeconds: 120 },
    policy: { type: "queue", value: 30 },
    healthCheck: { path: "/health" },
    // An endpoint with a chosen app name is known as the object's own by its fields. With the other value, a user has to decide.
    ...(object.appName === undefined ? { env: [TOKEN_ENV] } : {}),
    deletionPolicy: object.deletionPolicy ?? "ScaleToZero",
  };
}

function videoOf(prompt: string, input: InputPlan): Json {
  if (input.from === "Job") {
    const { kind, name } = input;
    return { videoToVideo: { input: { prompt, audioFrom: { jobRef: { kind, name } } } } };
  }
  const object = { storeRef: { name: "results" }, key: input.key };
  return input.from === "Image"
    ? { imageToVideo: { prompt, imageFrom: { object } } }
    : { videoToVideo: { input: { prompt, audioFrom: { object } } } };
}

/** The plan and the object of the cluster that stands for it now; undefined when it is not there. */
export function objectOf(world: { cluster: Cluster }, object: ObjectPlan): Json | undefined {
  const found = world.cluster.get(resourceOf(object), object);
  return serialOf(found) === object.serial ? found : undefined;
}

/** Whether an endpoint uses ClusterAccount `default`: it is bound to it, or neither bound nor in a namespace with a default account. */
export function needsClusterAccount(world: { cluster: Cluster; plan: Plan }): boolean {
  return world.plan.objects.some((plan) => {
    const object = plan.kind === "GpuEndpoint" ? objectOf(world, plan) : undefined;
    if (object === undefined) return false;
    const bound = textAt(objectAt(objectAt(object, "status"), "account"), "kind");
    const { namespace } = plan;
    const own = world.cluster.get(accountResource, { namespace, name: "default" });
    return bound === "ClusterAccount" || (bound === undefined && own === undefined);
  });
}

export function serialOf(object: Json | undefined): number | undefined {
  const text = textAt(objectAt(object?.["metadata"], "annotations"), "example.com/serial");
  if (text !== undefined) return Number(text);
  const isOfBatch = textAt(objectAt(object?.["metadata"], "labels"), BATCH_LABEL) !== undefined;
  return isOfBatch ? serialIn(JSON.stringify(object?.["spec"] ?? null)) : undefined;
}
