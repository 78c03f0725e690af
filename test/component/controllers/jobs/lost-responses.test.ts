import { expect, it } from "vitest";
import { videoJobResource } from "../../../../src/api/v1alpha1/kinds.ts";
import type { VideoJob, VideoJobStatus } from "../../../../src/api/v1alpha1/video-job.ts";
import { createAccountRegistry } from "../../../../src/controllers/account/registry.ts";
import { createStoreRegistry } from "../../../../src/controllers/artifact-store/registry.ts";
import { createKind } from "../../../../src/controllers/controller-deps.ts";
import { createJobReconciler } from "../../../../src/controllers/jobs/controller.ts";
import { createCopies } from "../../../../src/controllers/jobs/copies.ts";
import { videoJobAdapter } from "../../../../src/controllers/jobs/requests/video.ts";
import { createRunningRequests } from "../../../../src/controllers/jobs/running.ts";
import { type RequestOutcome, workOf } from "../../../../src/controllers/jobs/types.ts";
import type { TaskResult } from "../../../../src/provider/tasks/task-result.ts";
import { createStore } from "../../../../src/runtime/store.ts";
import { createSpendingAdmission } from "../../../../src/submission/admission.ts";
import { createFakeClock, START, settle } from "../../../support/fake-clock.ts";
import { recordOf, taskOf, video, videoJobOf } from "../../../support/jobs.ts";
import { type Change, merged } from "../../../support/manifests.ts";
import { scriptedApi, silentLog } from "../../../support/scripted-api-server.ts";
import { accountAt } from "../../../support/service-account.ts";
import { sharedOf } from "../../../support/shared.ts";

const ACCOUNT = "Account/team/default";
const baseURL = "http://127.0.0.1:1";
const bound = { kind: "Account", name: "default", baseURL } as const;
const at = "2026-02-28T23:59:00Z";

const tracking: VideoJobStatus = {
  phase: "Running",
  conditions: [],
  taskID: "task-1",
  account: bound,
  submission: { id: "i", specHash: "0", attempt: 1, state: "Accepted", time: at },
  submitTime: at,
  firstSubmitTime: at,
};

/** The status when the request of `recordOf` is sent. */
const intended: VideoJobStatus = {
  conditions: [],
  phase: "Pending",
  submission: {
    id: recordOf().id,
    specHash: recordOf().specHash,
    attempt: 1,
    state: "Intended",
    sender: recordOf().sender,
    time: at,
  },
};

/** A job with the account's only slot. Status writes are stored, and their responses are lost while `losing`. */
async function setUp(spec: Change, status: VideoJobStatus | undefined, task: TaskResult | undefined) {
  const kind = { resource: videoJobResource, store: createStore<VideoJob>() };
  let losing = true;
  let written: VideoJob | undefined;
  let version = 7;
  const api = await scriptedApi(({ path, body }) => {
    if (path.includes("/events")) return { status: 201, body: {} };
    const stored = written ?? kind.store.get("team/sea");
    if (stored === undefined) throw new Error("no job");
    version++;
    const { status: patch = {}, metadata = {} } = body as { status?: object; metadata?: object };
    written = {
      ...stored,
      metadata: { ...stored.metadata, ...metadata, resourceVersion: String(version) },
      status: merged({ ...stored.status }, patch as Change) as VideoJobStatus,
    };
    return losing ? "cut" : { body: written };
  });
  const clock = createFakeClock();
  const accounts = createAccountRegistry(
    () => true,
    () => {},
  );
  const tasks = {
    ...accountAt(baseURL).tasks,
    latest: () => task && { result: task, at: START },
  };
  accounts.set(ACCOUNT, { state: { kind: "Ready" }, handle: accountAt(baseURL, { tasks }) });
  const allowance = { maxTasks: 1, budget: undefined, reserve: undefined };
  const admission = createSpendingAdmission({ clock, allowance: () => allowance, inFlight: () => [] });
  const running = createRunningRequests({ clock, random: () => 0.5, admission });
  const job = videoJobOf("image", spec, status);
  kind.store.upsert(job);
  const wiring = {
    running,
    copies: createCopies({ clock, random: () => 0.5 }),
    stores: createStoreRegistry(() => true),
  };
  const shared = sharedOf(api.client, videoJobResource, { clock, accounts, admission });
  const run = createJobReconciler(shared, videoJobAdapter(createKind(api.client, kind)), wiring, () => {});
  return {
    clock,
    job,
    admission,
    running,
    reconcile: () =>
      run(
        { key: "team/sea", namespace: "team", name: "sea" },
        { signal: new AbortController().signal, log: silentLog },
      ),
    /** The watch shows what was written, and from now on responses arrive. */
    showWritten() {
      losing = false;
      if (written !== undefined) kind.store.upsert(structuredClone(written));
      return written?.status;
    },
    nextIsAdmitted: () => admission.request(ACCOUNT, { ...workOf(job), uid: "next" }, () => {}).kind === "Admitted",
  };
}

const output = { output: { storeRef: { name: "store" } } };
const succeeded = taskOf("TASK_STATUS_SUCCEED", { videos: [video] });
const answer = { record: recordOf(), account: bound };
const results = [{ kind: "Video" as const, url: video.url, type: "mp4", expiresAt: "2026-03-02T00:00:00Z" }];
const block = { reason: "RateLimited", message: "m", stalled: false } as const;

it.each<{ name: string; spec?: Change; ends: RequestOutcome; phase: string; free: boolean }>([
  {
    name: "accepted",
    ends: { ...answer, kind: "Accepted", accepted: { taskID: "task-1" } },
    phase: "Queued",
    free: false,
  },
  {
    name: "accepted with results",
    ends: { ...answer, kind: "Accepted", accepted: { results } },
    phase: "Succeeded",
    free: true,
  },
  {
    name: "accepted with results to store",
    spec: output,
    ends: { ...answer, kind: "Accepted", accepted: { results } },
    phase: "Storing",
    free: true,
  },
  {
    name: "refused",
    ends: { ...answer, kind: "Refused", reason: "InvalidSpec", message: "m" },
    phase: "Failed",
    free: true,
  },
  {
    name: "not taken",
    ends: { ...answer, kind: "NotTaken", block, retryAfterMs: undefined },
    phase: "Pending",
    free: true,
  },
  { name: "unknown", ends: { ...answer, kind: "Unknown", cause: "c" }, phase: "Halted", free: true },
  {
    name: "unknown under Resubmit",
    spec: { onSubmissionUnknown: "Resubmit" },
    ends: { ...answer, kind: "Unknown", cause: "c" },
    phase: "Pending",
    free: true,
  },
])(
  "given a request that is $name, a lost response to the status write keeps no slot and delays no shutdown",
  async ({ spec = {}, ends, phase, free }) => {
    const w = await setUp(spec, intended, undefined);
    const { uid } = w.job.metadata;
    w.admission.request(ACCOUNT, workOf(w.job), () => {});
    w.running.begin(
      uid,
      () => {},
      async (progress) => {
        progress.sent();
        return ends;
      },
    );
    await settle();
    await expect(w.reconcile()).rejects.toThrow();
    expect(w.showWritten()?.phase).toBe(phase);
    await w.reconcile();
    expect(w.running.find(uid)).toBeUndefined();
    expect(w.nextIsAdmitted()).toBe(free);
    await w.running.drain(AbortSignal.abort()); // would wait for 2 s of a clock that stands still
  },
);

it.each<{ name: string; spec?: Change; task: TaskResult; phase: string }>([
  { name: "succeeded", task: succeeded, phase: "Succeeded" },
  { name: "succeeded, with results to store", spec: output, task: succeeded, phase: "Storing" },
  { name: "failed", task: taskOf("TASK_STATUS_FAILED"), phase: "Failed" },
  {
    name: "failed, with another attempt",
    spec: { backoffLimit: 1 },
    task: taskOf("TASK_STATUS_FAILED"),
    phase: "Pending",
  },
])("given a task that $name, a lost response to the status write keeps no slot", async ({ spec = {}, task, phase }) => {
  const w = await setUp(spec, tracking, task);
  await expect(w.reconcile()).rejects.toThrow();
  expect(w.showWritten()?.phase).toBe(phase);
  await w.reconcile();
  expect(w.nextIsAdmitted()).toBe(true);
});
