/** Plain manifests for the tests of the API, and small changes to them. */

export type Manifest = {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string };
  spec: Record<string, unknown>;
};

export type Change = Record<string, unknown>;

/** A value of a Secret. */
export const base64 = (text: string) => Buffer.from(text).toString("base64");

export type Variant =
  | "endpoint"
  | "turbo"
  | "hd"
  | "image"
  | "reference"
  | "account"
  | "clusterAccount"
  | "bill"
  | "batch"
  | "s3Store"
  | "volumeStore";

const specs: Record<Variant, { kind: string; spec: Record<string, unknown> }> = {
  endpoint: {
    kind: "GpuEndpoint",
    spec: {
      products: [{ id: "gpu-4090-24g" }],
      image: "registry.example.com/models/echo:1.0",
      port: 8000,
      workers: {
        min: 1,
        max: 2,
        idleTimeoutSeconds: 60,
        maxConcurrency: 4,
        gpus: 1,
        requestTimeoutSeconds: 120,
      },
      policy: { type: "queue", value: 30 },
      healthCheck: { path: "/health" },
    },
  },
  turbo: {
    kind: "SpeechJob",
    spec: { model: "speech-2.6-turbo", text: "Ahoy.", voiceSetting: { voiceID: "announcer" } },
  },
  hd: { kind: "SpeechJob", spec: { model: "speech-2.6-hd", text: "Ahoy.", voiceSetting: { voiceID: "announcer" } } },
  image: {
    kind: "VideoJob",
    spec: { imageToVideo: { prompt: "Waves", imageURL: "https://images.example.com/sea.png" } },
  },
  reference: {
    kind: "VideoJob",
    spec: {
      videoToVideo: { input: { prompt: "Waves", referenceURLs: ["https://videos.example.com/sea.mp4"] } },
    },
  },
  account: {
    kind: "Account",
    spec: { baseURL: "https://api.example.com", apiKeySecretRef: { name: "key", key: "apiKey" } },
  },
  clusterAccount: {
    kind: "ClusterAccount",
    spec: {
      baseURL: "https://api.example.com",
      apiKeySecretRef: { namespace: "default", name: "key", key: "apiKey" },
    },
  },
  batch: {
    kind: "MediaBatch",
    spec: {
      items: { inline: [{ text: "Ahoy." }] },
      template: { speech: { model: "speech-2.6-turbo", voiceSetting: { voiceID: "announcer" } } },
      output: { storeRef: { name: "results" }, keyPrefix: "book" },
    },
  },
  bill: { kind: "BillReport", spec: { lastDays: 30 } },
  s3Store: { kind: "ArtifactStore", spec: { s3: { bucket: "results" } } },
  volumeStore: { kind: "ArtifactStore", spec: { volume: { path: "results" } } },
};

/** A manifest that is good, with `change` merged into its spec (RFC 7396: null removes, lists are replaced). */
export function manifest(variant: Variant, change: Change = {}, name = "sample"): Manifest {
  const { kind, spec } = specs[variant];
  return { apiVersion: "mooring.dev/v1alpha1", kind, metadata: { name }, spec: merged(spec, change) };
}

export function merged(target: Record<string, unknown>, change: Change): Record<string, unknown> {
  const result: Record<string, unknown> = structuredClone(target);
  for (const [key, value] of Object.entries(change)) {
    const present = result[key];
    if (value === null) delete result[key];
    else if (isRecord(value)) result[key] = merged(isRecord(present) ? present : {}, value);
    else result[key] = value;
  }
  return result;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
