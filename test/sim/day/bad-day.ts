import type { FaultInput } from "../../../src/simulator/faults.ts";
import { refusalBody } from "../../../src/simulator/refusal.ts";
import { base64, type Change, manifest, type Variant } from "../../support/manifests.ts";
import { SERVICE_URL } from "../scenario/manifests.ts";
import { createStage, type Stage, waitForCondition } from "../stage/stage.ts";
import { comeToRest, createStore, type Day, watched } from "./day.ts";

const MINUTE_MS = 60_000;

const own = (status: number, reason: string) => ({
  ...({ kind: "status", status } as const),
  body: refusalBody(status, reason, "the service's own words"),
});
const task = { operation: "getTaskResult" } as const;
const speech = { operation: "submitSpeech" } as const;

/** What the service answers, by a text of the request. */
const FAULTS: FaultInput[] = [
  { ...speech, match: "wrong", ...own(400, "INVALID_REQUEST_BODY") },
  { ...speech, match: "unverified", ...own(403, "NEED_REAL_NAME_VERIFY") },
  { ...speech, match: "busy", kind: "rateLimit", retryAfter: 7 },
  { ...speech, match: "moved", kind: "gatewayPage", status: 503 },
  { ...speech, match: "garbled", kind: "status", status: 200, body: {} },
  { ...speech, match: "poor", times: 2, ...own(400, "NOT_ENOUGH_BALANCE") },
  { operation: "synthesizeSpeech", match: "cut", kind: "resetAfter" },
  { operation: "synthesizeSpeech", match: "late", kind: "latency", latencyMs: 20_000, after: true },
  { operation: "submitImageToVideo", match: "dropped", kind: "resetBefore" },
  { ...speech, match: "forgotten", kind: "status", status: 200, body: { task_id: "task-forgotten" } },
  { ...task, match: "task-forgotten", times: 1_000, ...own(404, "TASK_NOT_FOUND") },
  { ...speech, match: "shaky", kind: "status", status: 200, body: { task_id: "task-shaky" } },
  { ...task, match: "task-shaky", times: 4, kind: "gatewayPage" },
  {
    ...({ ...task, match: "task-shaky", times: 1_000, kind: "status", status: 200 } as const),
    body: { task: { task_id: "task-shaky", status: "TASK_STATUS_FAILED", reason: "out of words" } },
  },
  { operation: "createEndpoint", match: "team-refused", ...own(400, "INVALID_PARAMETER") },
  { operation: "createEndpoint", match: "team-unseen", kind: "resetAfter" },
  { operation: "updateEndpoint", match: "team-plain", times: 2, ...own(500, "INTERNAL_ERROR") },
];

type Job = [variant: Variant, name: string, change?: Change];
const speechOf = (text: string, change: Change = {}): Job => ["hd", text, { text, ...change }];

const JOBS: Job[] = [
  ...["wrong", "unverified", "busy", "moved", "garbled", "forgotten"].map((text) => speechOf(text)),
  speechOf("shaky", { backoffLimit: 1 }),
  speechOf("poor", { accountRef: { name: "poor" } }),
  speechOf("revoked", { accountRef: { name: "revoked" } }),
  speechOf("nobody", { accountRef: { name: "nobody" } }),
  speechOf("elsewhere", { output: { storeRef: { name: "elsewhere" } } }),
  ["hd", "written", { text: null, textFrom: { configMapKeyRef: { name: "letters", key: "first" } } }],
  ["turbo", "cut", { text: "cut" }],
  ["turbo", "late", { text: "late" }],
  ["image", "dropped", { imageToVideo: { prompt: "dropped" } }],
  [
    "image",
    "unseen",
    { imageToVideo: { imageURL: null, imageFrom: { object: { storeRef: { name: "results" }, key: "a.png" } } } },
  ],
];

const annotated = (name: string, value: string) => ({ metadata: { annotations: { [`mooring.dev/${name}`]: value } } });

/** Requests and references fail, each in another way, and users do what the conditions ask for. */
export async function createBadDay(): Promise<Day> {
  const stage = await createStage({
    bucket: true,
    simulator: { queueMs: [1_000, 2_000], speechTaskMs: [10_000, 20_000], videoTaskMs: [30_000, 60_000] },
    account: { requestTimeout: "10s", endpoints: { syncInterval: "60s" } },
  });
  const day = watched(stage);
  await stage.control("POST", "/__faults", FAULTS);
  await createAccounts(stage);
  await createStore(stage);
  stage.start({ metrics: day.metrics });
  await waitForCondition(stage, "Account", "default", "Ready");
  for (const [variant, name, change] of JOBS) await stage.apply(manifest(variant, change, name));
  await createEndpoints(stage);
  const items = { inline: [{ text: "please fail" }, { text: "please fail" }, { text: "One." }, { text: "Two." }] };
  const template = { speech: { model: "speech-2.6-hd" } };
  await stage.apply(manifest("batch", { items, template, parallelism: 1, maxFailedIndexes: 1 }, "failing"));
  await stage.apply(manifest("batch", { suspend: true }, "waiting"));
  await stage.pass(20 * MINUTE_MS);
  await decide(stage);
  await stage.pass(20 * MINUTE_MS);
  await remove(stage);
  await stage.pass(20 * MINUTE_MS);
  await comeToRest(day);
  return day;
}

/** One of each, so that what holds an account holds no other job. */
async function createAccounts({ apply }: Stage): Promise<void> {
  for (const name of ["poor", "revoked"]) {
    const key = name === "revoked" ? "not a key" : "simulator-key";
    await apply({ apiVersion: "v1", kind: "Secret", metadata: { name }, data: { apiKey: base64(key) } });
    const spec = { baseURL: SERVICE_URL, apiKeySecretRef: { name, key: "apiKey" } };
    await apply({ kind: "Account", metadata: { name }, spec });
  }
}

async function createEndpoints({ apply }: Stage): Promise<void> {
  const env = [{ name: "TOKEN", valueFrom: { secretKeyRef: { name: "token", key: "value" } } }];
  await apply(manifest("endpoint", {}, "plain"));
  await apply(manifest("endpoint", {}, "refused"));
  await apply(manifest("endpoint", { deletionPolicy: "Retain" }, "unseen"));
  await apply(manifest("endpoint", { env }, "closed"));
  await apply(manifest("endpoint", { managementPolicy: "Observe", adoption: { endpointID: "nowhere" } }, "foreign"));
  await apply(manifest("endpoint", {}, "lost"));
}

/** What the conditions ask for. */
async function decide({ apply, patch, control, service }: Stage): Promise<void> {
  for (const name of ["moved", "cut"]) {
    await patch("SpeechJob", name, annotated("resubmit-token", "again"));
  }
  await patch("SpeechJob", "late", annotated("attach-task", "no-such-task"));
  await patch("VideoJob", "dropped", annotated("resubmit-token", "again"));
  await patch("Secret", "revoked", { data: { apiKey: base64("simulator-key") } });
  await apply({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "letters" }, data: { first: "Dear all" } });
  await apply({ apiVersion: "v1", kind: "Secret", metadata: { name: "token" }, data: { value: base64("t0ken") } });
  await apply(manifest("s3Store", { s3: { credentialsSecretRef: { name: "bucket" } } }, "elsewhere"));
  await patch("MediaBatch", "waiting", { spec: { suspend: false } });
  await patch("GpuEndpoint", "refused", { spec: { image: "registry.example.com/models/echo:1.1" } });
  await patch("GpuEndpoint", "plain", { spec: { workers: { max: 4 } } });
  const { id = "" } = service.endpoints.all().find(({ parameters }) => parameters.name === "team-lost") ?? {};
  await control("POST", `/__state/endpoints/${id}`, { delete: true });
  const unseen = service.endpoints.all().find(({ parameters }) => parameters.name === "team-unseen");
  await control("POST", `/__state/endpoints/${unseen?.id}`, { status: { status: "failed", error: "NO_GPU" } });
}

async function remove({ patch, remove }: Stage): Promise<void> {
  await patch("GpuEndpoint", "lost", annotated("reconcile-requested-at", "now"));
  for (const name of ["plain", "unseen", "closed"]) await remove("GpuEndpoint", name);
  for (const name of ["garbled", "wrong", "forgotten"]) await remove("SpeechJob", name);
  await remove("MediaBatch", "failing");
}
