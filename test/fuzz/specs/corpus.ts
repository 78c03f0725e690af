import type { Json } from "../../sim/api-server/json.ts";
import { ENDPOINT } from "./companions.ts";
import type { Specs } from "./driver.ts";

const ACCOUNT: Json = { baseURL: "http://127.0.0.1:9", apiKeySecretRef: { name: "key", key: "apiKey" } };
const VIDEO: Json = { videoToVideo: { input: { prompt: "Waves" } } };
const UNTEXTED: Json = { model: "speech-2.6-hd", voiceSetting: { voiceID: "announcer" } };
const SPEECH: Json = { ...UNTEXTED, text: "Ahoy." };
/** It ends at once. */
const BATCH: Json = {
  accountRef: { kind: "Account", name: "default" },
  items: { inline: [{}] },
  template: { video: VIDEO },
  output: { storeRef: { name: "volume" }, keyPrefix: "films" },
  activeDeadlineSeconds: 1,
};
/** Its result is too large for the store. */
const LARGE_SPEECH: Json = {
  model: "speech-2.6-turbo",
  text: "Ahoy.",
  accountRef: { kind: "Account", name: "default" },
  timbreWeights: [{ voiceID: "announcer", weight: 1 }],
  audioSetting: { format: "mp3", sampleRate: 32_000, bitrate: 2_147_483_647, channel: 1 },
  stream: true,
  streamOptions: { excludeAggregatedAudio: true },
  output: { storeRef: { name: "volume" } },
};

/** Specs that once led to a defect, or that are the reason for a rule. */
const FINDINGS: readonly { finding: string; kind: string; specs: Json[] }[] = [
  {
    finding: "an amount that is none ended the operator",
    kind: "Account",
    specs: [{ ...ACCOUNT, budget: { memberID: "member-1", action: "HoldNew", reservePerTask: "a" } }],
  },
  {
    finding: "an interval that is none: the account stayed Pending",
    kind: "Account",
    specs: [{ ...ACCOUNT, requestTimeout: "soon" }],
  },
  {
    finding: "an account that becomes invalid, and valid again",
    kind: "Account",
    specs: [ACCOUNT, { ...ACCOUNT, billing: { interval: "-1s" } }, ACCOUNT],
  },
  {
    finding: "a rate at which the account is not checked in a lifetime: it stayed Pending",
    kind: "Account",
    specs: [{ ...ACCOUNT, rateLimit: { requestsPerSecond: 1e-9 } }],
  },
  {
    finding: "an interval that is none: the report stayed Pending",
    kind: "BillReport",
    specs: [{ lastDays: 3, refreshInterval: "a" }],
  },
  {
    finding: "a quantity that is none: the store stayed Pending",
    kind: "ArtifactStore",
    specs: [{ volume: { path: "results" }, maxBytesPerJob: "a" }],
  },
  {
    finding: "control characters of a prefix in status.location",
    kind: "ArtifactStore",
    specs: [{ s3: { bucket: "results", prefix: "\u0007\u001b[31m" } }],
  },
  {
    finding: "a location beyond the length of status.location",
    kind: "ArtifactStore",
    specs: [{ volume: { path: "\u202e".repeat(512) } }],
  },
  {
    finding: "a task is paid for whose results no store can take: a folder with too long a name",
    kind: "VideoJob",
    specs: [{ ...VIDEO, output: { storeRef: { name: "volume" }, prefix: "x".repeat(512) } }],
  },
  {
    finding: "a task is paid for whose results no store can take: too many bytes",
    kind: "SpeechJob",
    specs: [{ ...SPEECH, output: { storeRef: { name: "volume" }, prefix: "😀/".repeat(256) } }],
  },
  {
    finding: "a job that waits after a refusal did not observe a change of its spec",
    kind: "SpeechJob",
    specs: [{ ...LARGE_SPEECH, ttlSecondsAfterFinished: 86_400 }, LARGE_SPEECH],
  },
  {
    finding: "a job with two requests sent one of them",
    kind: "VideoJob",
    specs: [{ ...VIDEO, imageToVideo: { prompt: "Waves", imageURL: "https://images.example.com/sea.png" } }],
  },
  {
    finding: "an endpoint with more workers at least than at most",
    kind: "GpuEndpoint",
    specs: [
      ENDPOINT,
      {
        ...ENDPOINT,
        workers: { min: 3, max: 2, idleTimeoutSeconds: 60, maxConcurrency: 4, gpus: 1, requestTimeoutSeconds: 120 },
      },
    ],
  },
  {
    finding: "formatting characters of an app name in status.appName",
    kind: "GpuEndpoint",
    specs: [{ ...ENDPOINT, appName: "\u202ea" }],
  },
  {
    finding: "the endpoint to adopt is named by a dot: its path was that of the list",
    kind: "GpuEndpoint",
    specs: [{ ...ENDPOINT, adoption: { endpointID: "." } }],
  },
  {
    finding: "a storage with a name that every object of JavaScript has: the simulator knew it",
    kind: "GpuEndpoint",
    specs: [
      {
        ...ENDPOINT,
        volumes: [{ type: "network", id: "constructor", mountPath: "/data" }],
        clusterID: "cluster-1",
      },
    ],
  },
  {
    finding: "an export whose object has no name was retried with errors in the log",
    kind: "GpuEndpoint",
    specs: [ENDPOINT, { ...ENDPOINT, exportTo: { configMap: { name: "" } } }],
  },
  {
    finding: "an account with shares whose limit is no amount: the reconcile failed again and again",
    kind: "ClusterAccount",
    specs: [
      {
        baseURL: "http://127.0.0.1:9",
        apiKeySecretRef: { name: "key", key: "apiKey", namespace: "team-a" },
        budget: { memberID: "member-1", monthlyLimit: "" },
        shares: [{ name: "all", namespaceSelector: {}, limits: { monthlyLimit: "1" } }],
      },
    ],
  },
  {
    finding: "control characters of a name in status.callback.lastError",
    kind: "VideoJob",
    specs: [
      {
        accountRef: { kind: "Account", name: "default" },
        imageToVideo: { prompt: "Waves", imageFrom: { object: { storeRef: { name: "volume" }, key: "a.bin" } } },
        callback: { url: "a", secretRef: { name: "a", key: "two\nlines" } },
      },
    ],
  },
  {
    finding: "the key of an input is no key: the message named no field",
    kind: "SpeechJob",
    specs: [{ ...UNTEXTED, textFrom: { object: { storeRef: { name: "volume" }, key: "." } } }],
  },
  {
    finding: "an empty mix of voices counted as one",
    kind: "SpeechJob",
    specs: [{ ...SPEECH, model: "speech-2.6-turbo", voiceSetting: { speed: 1 }, timbreWeights: [] }],
  },
  {
    finding: "a batch that had ended did not observe its next spec",
    kind: "MediaBatch",
    specs: [BATCH, { ...BATCH, ttlSecondsAfterFinished: 86_400 }],
  },
];

export const CORPUS: readonly (Specs & { finding: string })[] = FINDINGS.map(({ finding, kind, specs }) => ({
  finding,
  kind,
  specs: () => specs,
}));
