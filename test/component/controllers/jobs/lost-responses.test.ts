import { expect, it } from "vitest";
import type { VideoJob, VideoJobStatus } from "../../../../src/api/v1alpha1/video-job.ts";
import { type RequestOutcome, workOf } from "../../../../src/controllers/jobs/types.ts";
import type { TaskResult } from "../../../../src/provider/tasks/task-result.ts";
import { START, settle } from "../../../support/fake-clock.ts";
import { recordOf, taskOf, video, videoJobOf } from "../../../support/jobs.ts";
import { type Change, merged } from "../../../support/manifests.ts";
import { scriptedApi } from "../../../support/scripted-api-server.ts";
import { accountAt } from "../../../support/service-account.ts";
import { jobReconciler } from "./world.ts";

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
  let losing = true;
  let written: VideoJob | undefined;
  let version = 7;
  const api = await scriptedApi(({ method, path, body }) => {
    if (path.includes("/events")) return { status: 201, body: {} };
    const stored = written ?? kind.store.get("team/sea");
    if (stored === undefined) throw new Error("no job");
    version++;
    const { status: patch = {}, metadata = {} } = body as { status?: object; metadata?: object };
    written = {
      ...stored,
      metadata: { ...stored.metadata, ...metadata, resourceVersion: String(version) },
      status: merged(method === "PUT" ? {} : { ...stored.status }, patch as Change) as VideoJobStatus,
    };
    return losing ? "cut" : { body: written };
  });
  const tasks = { ...accountAt(baseURL).tasks, latest: () => task && { result: task, at: START } };
  const world = jobReconciler(api.client, videoJobOf("image", spec, status), {
    maxTasks: 1,
    handles: [accountAt(baseURL, { tasks })],
    hasStore: () => true,
  });
  const { kind } = world;
  return {
    ...world,
    /** The watch shows what was written, and from now on responses arrive. */
    showWritten() {
      losing = false;
      if (written !== undefined) kind.store.upsert(structuredClone(written));
      return written?.status;
    },
  };
}

const output = { output: { storeRef: { name: "store" } } };
const succeeded = taskOf("TASK_STATUS_SUCCEED", { videos: [video] });
const answer = { record: recordOf({ account: bound }) };
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
