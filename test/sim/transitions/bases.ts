import { hasParent, valueAt } from "./paths.ts";

/**
 * A spec that the API server accepts, from which one field at a time changes. NAME stands for the name of the object.
 * `ready`: how `STATUS REASON` of its Ready begins. Default: `True`, or `False Suspended` of a job.
 */
export type Base = { kind: string; name: string; spec: Record<string, unknown>; ready?: string };

const REFERENCE = { name: "values", key: "value" };
const OBJECT = { object: { storeRef: { name: "volume" }, key: "a.bin" } };
const SOURCE = { jobRef: { kind: "SpeechJob", name: "no-such-job" } };
const ENDPOINT = {
  accountRef: { kind: "Account", name: "default" },
  name: "echo",
  products: [{ id: "gpu-4090-24g" }],
  image: "registry.example.com/models/echo:1.0",
  command: "serve",
  registryAuthID: "credential-1",
  port: 8000,
  workers: { min: 1, max: 2, idleTimeoutSeconds: 60, maxConcurrency: 4, gpus: 1, requestTimeoutSeconds: 120 },
  policy: { type: "queue", value: 30 },
  rootfsSizeGB: 100,
  volumes: [{ type: "network", id: "storage-1", mountPath: "/data" }],
  clusterID: "cluster-1",
  env: [{ name: "MODEL", value: "small" }],
  healthCheck: { path: "/health" },
  ignoreDrift: ["rootfsSizeGB"],
  exportTo: { configMap: { name: "NAME" } },
};
const JOB = { accountRef: { kind: "Account", name: "default" }, suspend: true, ttlSecondsAfterFinished: 86_400 };
/** A private address: nothing is sent there for an Account. */
const CALLBACK = { url: "http://127.0.0.1:9/ended", secretRef: REFERENCE };
const SPEECH_FIELDS = {
  voiceSetting: { voiceID: "announcer", speed: 1, vol: 1, pitch: 0, emotion: "calm", textNormalization: true },
  audioSetting: { format: "mp3", sampleRate: 32_000, bitrate: 128_000, channel: 1 },
  pronunciationDict: { tone: [{ word: "sea", sound: "see" }] },
  voiceModify: { pitch: 1, intensity: 1, timbre: 1, soundEffects: "echo" },
  languageBoost: "English",
};
const SPEECH = { ...JOB, ...SPEECH_FIELDS };
const TEMPLATE = { onSubmissionUnknown: "Halt", activeDeadlineSeconds: 3_600 };
const BATCH = {
  ...JOB,
  output: { storeRef: { name: "volume" }, keyPrefix: "films" },
  parallelism: 10,
  backoffLimitPerIndex: 0,
};

/** Several for a kind whose fields exclude each other. `baseURL` is that of the simulator. */
export function basesOf({ namespace, simulator }: { namespace: string; simulator: { url: string } }): Base[] {
  const account = {
    baseURL: simulator.url,
    apiKeySecretRef: { name: "key", key: "apiKey" },
    paths: { submitSpeech: "/v3/async/vendor-speech-2.6-hd" },
    operations: [{ operation: "listBills", requestsPerMinute: 600 }],
    endpoints: { deleteOperation: { method: "DELETE", path: "/endpoints/{id}" } },
    budget: { memberID: "member-1" },
    rateLimit: { requestsPerSecond: 2000, burst: 2000 },
    speech: {},
    billing: { products: [{ operation: "submitSpeech", product: "speech" }] },
  };
  const expression = { key: "team", operator: "In", values: ["a"] };
  const selector = { matchLabels: { color: "blue" }, matchExpressions: [expression] };
  return [
    { kind: "GpuEndpoint", name: "endpoint", spec: ENDPOINT },
    {
      kind: "GpuEndpoint",
      name: "local",
      spec: {
        ...ENDPOINT,
        clusterID: undefined,
        appName: undefined,
        volumes: [{ type: "local", sizeGB: 30, mountPath: "/scratch" }],
        env: [{ name: "MODEL", valueFrom: { secretKeyRef: REFERENCE } }],
        exportTo: { configMap: { name: "NAME" }, secret: { name: "NAME" } },
      },
    },
    {
      kind: "GpuEndpoint",
      name: "adopting",
      spec: { ...ENDPOINT, adoption: { endpointID: "no-NAME", mode: "Match" } },
      ready: "False AdoptionNotFound",
    },
    {
      kind: "GpuEndpoint",
      name: "map",
      spec: { ...ENDPOINT, env: [{ name: "MODEL", valueFrom: { configMapKeyRef: REFERENCE } }] },
    },
    { kind: "Account", name: "account", spec: account },
    {
      kind: "ClusterAccount",
      name: `of-${namespace}`,
      spec: {
        ...account,
        apiKeySecretRef: { ...account.apiKeySecretRef, namespace },
        allowedNamespaces: selector,
        results: { allowedPrivateNetworks: ["127.0.0.0/8"] },
        shares: [
          {
            name: "team",
            namespaceSelector: selector,
            per: "Namespace",
            limits: {
              concurrentTasks: 1,
              requestsPerMinute: 60,
              dailyLimit: "100",
              monthlyLimit: "0.0001",
              maxWorkers: 4,
              maxGPUs: 8,
              products: ["gpu-4090-24g"],
              models: ["vid-i2v"],
            },
            allowed: {
              volumes: ["storage-1"],
              registryAuths: ["auth-1"],
              clusters: ["cluster-1"],
              regions: ["region-1"],
              voices: ["announcer*"],
            },
            requireMaxCost: false,
            weight: 2,
            exportTo: { configMap: { name: "NAME" } },
            callback: { url: "https://hooks.example.com/done", secretRef: REFERENCE },
          },
        ],
        spending: { showInStatus: false, reports: [{ namespaces: selector, keyIDs: ["key-1"] }] },
      },
    },
    {
      kind: "ArtifactStore",
      name: "store-s3",
      spec: {
        maxBytes: "10Gi",
        s3: { bucket: "results", endpoint: "http://127.0.0.1:9", credentialsSecretRef: { name: "values" } },
      },
      ready: "False SecretKeyMissing",
    },
    { kind: "ArtifactStore", name: "store-volume", spec: { volume: { path: "results" } } },
    // No bill has the category: the jobs of other kinds do not change the reports.
    {
      kind: "BillReport",
      name: "report",
      spec: {
        accountRef: { kind: "Account", name: "default" },
        category: "none",
        startTime: "2026-02-01T00:00:00Z",
        endTime: "2026-03-01T00:00:00Z",
        exportTo: { configMap: { name: "NAME" } },
      },
    },
    {
      kind: "BillReport",
      name: "report-output",
      spec: {
        accountRef: { kind: "Account", name: "default" },
        category: "none",
        lastDays: 30,
        output: { storeRef: { name: "volume" } },
      },
    },
    { kind: "SpeechJob", name: "speech-hd", spec: { ...SPEECH, model: "speech-2.6-hd", text: "Ahoy NAME." } },
    {
      kind: "SpeechJob",
      name: "speech-short",
      spec: {
        ...SPEECH,
        model: "speech-2.6-turbo",
        text: "Ahoy NAME.",
        voiceSetting: { voiceID: "announcer", latexRead: false },
        stream: false,
        aigcWatermark: false,
        output: { storeRef: { name: "volume" } },
      },
    },
    {
      kind: "SpeechJob",
      name: "speech-turbo",
      spec: {
        ...SPEECH,
        model: "speech-2.6-turbo",
        text: "Ahoy NAME.",
        voiceSetting: { speed: 1 },
        timbreWeights: [{ voiceID: "announcer", weight: 1 }],
        stream: true,
        streamOptions: { excludeAggregatedAudio: true },
        output: { storeRef: { name: "volume" } },
      },
    },
    {
      kind: "SpeechJob",
      name: "speech-secret",
      spec: { ...SPEECH, model: "speech-2.6-hd", textFrom: { secretKeyRef: REFERENCE } },
    },
    {
      kind: "SpeechJob",
      name: "speech-map",
      spec: { ...SPEECH, model: "speech-2.6-hd", textFrom: { configMapKeyRef: REFERENCE } },
    },
    {
      kind: "SpeechJob",
      name: "speech-object",
      spec: { ...SPEECH, model: "speech-2.6-hd", textFrom: { object: { storeRef: { name: "volume" }, key: "a.txt" } } },
    },
    {
      kind: "SpeechJob",
      name: "speech-callback",
      spec: { ...SPEECH, model: "speech-2.6-hd", text: "Ahoy NAME.", callback: CALLBACK },
    },
    {
      kind: "MediaBatch",
      name: "batch-speech",
      spec: {
        ...BATCH,
        items: { inline: [{ text: "Ahoy NAME." }] },
        template: {
          speech: {
            ...TEMPLATE,
            model: "speech-2.6-turbo",
            text: "Ahoy.",
            ...SPEECH_FIELDS,
            timbreWeights: [{ voiceID: "announcer", weight: 1 }],
            stream: false,
            streamOptions: { excludeAggregatedAudio: true },
            outputFormat: "url",
            aigcWatermark: false,
          },
        },
      },
      ready: "False",
    },
    {
      kind: "MediaBatch",
      name: "batch-map",
      spec: {
        ...BATCH,
        items: { configMapKeyRef: REFERENCE, format: "JSONLines" },
        template: { speech: { textFrom: { secretKeyRef: REFERENCE } } },
      },
      ready: "False",
    },
    {
      kind: "MediaBatch",
      name: "batch-image",
      spec: {
        ...BATCH,
        items: { object: { storeRef: { name: "volume" }, key: "items.csv" }, format: "CSV" },
        template: {
          video: {
            ...TEMPLATE,
            imageToVideo: {
              prompt: "Waves",
              imageURL: "https://images.example.com/sea.png",
              width: 832,
              height: 480,
              loras: [{ path: "models/sea", scale: 1 }],
            },
          },
        },
      },
      ready: "False",
    },
    {
      kind: "MediaBatch",
      name: "batch-video",
      spec: {
        ...BATCH,
        items: { inline: [{}] },
        template: {
          video: {
            videoToVideo: {
              input: { prompt: "Waves", referenceURLs: ["https://videos.example.com/sea.mp4"] },
              parameters: { duration: 5 },
            },
          },
        },
      },
      ready: "False",
    },
    ...[
      { name: "batch-image-object", video: { imageToVideo: { prompt: "Waves", imageFrom: OBJECT } } },
      { name: "batch-audio-object", video: { videoToVideo: { input: { prompt: "Waves", audioFrom: OBJECT } } } },
      { name: "batch-audio-job", video: { videoToVideo: { input: { prompt: "Waves", audioFrom: SOURCE } } } },
    ].map(({ name, video }) => ({
      kind: "MediaBatch",
      name,
      spec: { ...BATCH, items: { inline: [{}] }, template: { video } },
      ready: "False",
    })),
    {
      kind: "MediaBatch",
      name: "batch-object-text",
      spec: {
        ...BATCH,
        items: { inline: [{}] },
        template: { speech: { textFrom: { object: { storeRef: { name: "volume" }, key: "a.txt" } } } },
      },
      ready: "False",
    },
    {
      kind: "MediaBatch",
      name: "batch-map-text",
      spec: {
        ...BATCH,
        items: { inline: [{}] },
        template: { speech: { textFrom: { configMapKeyRef: REFERENCE } } },
      },
      ready: "False",
    },
    {
      kind: "VideoJob",
      name: "video-image-object",
      spec: { ...JOB, imageToVideo: { prompt: "Waves", imageFrom: OBJECT } },
    },
    {
      kind: "VideoJob",
      name: "video-audio-object",
      spec: { ...JOB, videoToVideo: { input: { prompt: "Waves", audioFrom: OBJECT } } },
    },
    {
      kind: "VideoJob",
      name: "video-audio-job",
      spec: { ...JOB, videoToVideo: { input: { prompt: "Waves", audioFrom: SOURCE } } },
    },
    {
      kind: "VideoJob",
      name: "video-callback",
      spec: {
        ...JOB,
        imageToVideo: { prompt: "Waves", imageURL: "https://images.example.com/sea.png" },
        callback: CALLBACK,
      },
    },
    {
      kind: "VideoJob",
      name: "video-image",
      spec: {
        ...JOB,
        imageToVideo: {
          prompt: "Waves",
          imageURL: "https://images.example.com/sea.png",
          width: 832,
          height: 480,
          loras: [{ path: "models/sea", scale: 1 }],
        },
      },
    },
    {
      kind: "VideoJob",
      name: "video-video",
      spec: {
        ...JOB,
        output: { storeRef: { name: "volume" } },
        videoToVideo: {
          input: { prompt: "Waves", referenceURLs: ["https://videos.example.com/sea.mp4"] },
          parameters: { duration: 5 },
        },
      },
    },
  ];
}

/** The base in which a field has a value or, where none has, could have one. */
export function baseWith(bases: readonly Base[], path: string): Base | undefined {
  return bases.find(({ spec }) => valueAt(spec, path) !== undefined) ?? bases.find(({ spec }) => hasParent(spec, path));
}

/** The spec of the object of this name: NAME stands for it. */
export function specFor(spec: Record<string, unknown>, name: string): Record<string, unknown> {
  return JSON.parse(JSON.stringify(spec).replaceAll("NAME", name));
}
