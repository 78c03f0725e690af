import type { FaultInput } from "../../src/simulator/faults.ts";

/** A fault without the calls that it is for. */
type Fault = FaultInput extends infer F ? (F extends FaultInput ? Omit<F, "operation" | "match"> : never) : never;

/** What a person reads in the status; attempts that were paid, and calls that were sent, at least. */
export type Outcome = { phase: string; reason: string; kstatus: string; attempts?: number; calls: number };

export type AnswerRow = { name: string; faults: Fault[]; expected: Outcome; account?: Record<string, unknown> };

const own = (status: number, reason: string): Fault => ({
  kind: "status",
  status,
  body: { code: status, reason, message: "the service's own words", metadata: {} },
});
const garbage = (body: unknown): Fault => ({ kind: "status", status: 200, body });
const page = (status: number): Fault => ({
  kind: "status",
  status,
  body: "<html>not here</html>",
  headers: { "content-type": "text/html" },
});

const completed = (calls: number): Outcome => ({
  phase: "Succeeded",
  reason: "Completed",
  kstatus: "Current",
  attempts: 1,
  calls,
});
const halted: Outcome = { phase: "Halted", reason: "SubmissionUnknown", kstatus: "Failed", attempts: 1, calls: 1 };
const unusable: Outcome = { ...halted, reason: "ResponseUnusable" };
const failed = (reason: string): Outcome => ({ phase: "Failed", reason, kstatus: "Failed", calls: 1 });
const stalled = (reason: string): Outcome => ({ phase: "Pending", reason, kstatus: "Failed", calls: 1 });
const impatient = { requestTimeout: "1s" };

/** Every answer to a paid request, and what the job then shows. */
export const SUBMIT_ANSWERS: readonly AnswerRow[] = [
  { name: "accepted", faults: [], expected: completed(1) },
  { name: "400 invalid", faults: [own(400, "INVALID_REQUEST_BODY")], expected: failed("InvalidSpec") },
  { name: "404 no such path", faults: [own(404, "RESOURCE_NOT_FOUND")], expected: completed(2) },
  { name: "405 once", faults: [own(405, "METHOD_NOT_ALLOWED")], expected: completed(2) },
  { name: "403 not verified", faults: [own(403, "NEED_REAL_NAME_VERIFY")], expected: failed("NotEntitled") },
  { name: "400 balance", faults: [own(400, "NOT_ENOUGH_BALANCE")], expected: stalled("InsufficientBalance") },
  { name: "403 quota", faults: [own(403, "QUOTA_EXCEEDED")], expected: stalled("InsufficientBalance") },
  { name: "401 once", faults: [own(401, "UNAUTHORIZED")], expected: completed(2) },
  { name: "429 with a time", faults: [{ kind: "rateLimit", retryAfter: 1 }], expected: completed(2) },
  { name: "429 without", faults: [{ kind: "rateLimit" }], expected: completed(2) },
  { name: "500 of its own", faults: [own(500, "INTERNAL_ERROR")], expected: halted },
  { name: "500 of its own after", faults: [{ ...own(500, "INTERNAL_ERROR"), after: true } as Fault], expected: halted },
  { name: "503 of its own", faults: [own(503, "BUSY")], expected: halted },
  { name: "408 of its own", faults: [own(408, "REQUEST_TIMEOUT")], expected: halted },
  { name: "499 of its own", faults: [own(499, "CLIENT_CLOSED_REQUEST")], expected: halted },
  { name: "a proxy's 413", faults: [page(413)], expected: halted },
  { name: "a proxy's 429", faults: [page(429)], expected: completed(2) },
  { name: "a redirect", faults: [{ ...page(302), headers: { location: "/" } } as Fault], expected: halted },
  { name: "a gateway's 502", faults: [{ kind: "gatewayPage" }], expected: halted },
  { name: "a gateway's 503", faults: [{ kind: "gatewayPage", status: 503 }], expected: halted },
  { name: "a gateway's 504 after", faults: [{ kind: "gatewayPage", status: 504, after: true }], expected: halted },
  { name: "a proxy's 408", faults: [page(408)], expected: halted },
  { name: "timeout before", faults: [{ kind: "latency", latencyMs: 6000 }], expected: halted, account: impatient },
  {
    name: "timeout after",
    faults: [{ kind: "latency", latencyMs: 6000, after: true }],
    expected: halted,
    account: impatient,
  },
  { name: "reset before", faults: [{ kind: "resetBefore" }], expected: halted },
  { name: "reset after", faults: [{ kind: "resetAfter" }], expected: halted },
  { name: "cut off", faults: [{ kind: "truncate" }], expected: unusable },
  { name: "a page with 200", faults: [garbage("<html>hello</html>")], expected: unusable },
  { name: "an empty object", faults: [garbage({})], expected: unusable },
  { name: "an empty id", faults: [garbage({ task_id: "", audio: "" })], expected: unusable },
  { name: "a list", faults: [garbage([1])], expected: unusable },
];

type Task = Record<string, unknown>;
const task = (status: unknown, change: Task = {}, lists: Task = {}): Fault => ({
  kind: "status",
  status: 200,
  probability: 1,
  body: {
    extra: {},
    task: {
      task_type: "VIDEO_IMG_TO_VIDEO",
      status,
      reason: "",
      eta: 0,
      progress_percent: 100,
      ...change,
    },
    images: [],
    videos: [],
    audios: [],
    ...lists,
  },
});
const SUCCEEDED = "TASK_STATUS_SUCCEED";
const URL = "http://127.0.0.1:9/result.mp4";
const videos = (change: Task = {}) => ({
  videos: [{ video_url: URL, video_url_ttl: "3600", video_type: "mp4", ...change }],
});
const good = task(SUCCEEDED, {}, videos());

/** Life of the first URL in seconds, from the job's completion. */
export type PollRow = AnswerRow & { status?: Record<string, unknown>; lifeSeconds?: number };

const running = (phase: string): Outcome => ({ phase, reason: phase, kstatus: "InProgress", attempts: 1, calls: 1 });
const done = completed(1);
const twice = (fault: Fault): Fault[] => [{ ...fault, times: 2 } as Fault, good];

/** Every answer to the question for a task. */
export const POLL_ANSWERS: readonly PollRow[] = [
  { name: "queued", faults: [task("TASK_STATUS_QUEUED", { progress_percent: 0 })], expected: running("Queued") },
  {
    name: "processing",
    faults: [task("TASK_STATUS_PROCESSING", { progress_percent: 40, eta: 7 })],
    expected: running("Running"),
    status: { progressPercent: 40, etaSeconds: 7, remoteStatus: "TASK_STATUS_PROCESSING" },
  },
  {
    name: "numbers as text",
    faults: [task("TASK_STATUS_PROCESSING", { progress_percent: "40", eta: "7" })],
    expected: running("Running"),
    status: { progressPercent: 40, etaSeconds: 7 },
  },
  {
    name: "an unknown status",
    faults: [task("TASK_STATUS_MARINATING", { progress_percent: 0 })],
    expected: running("Queued"),
    status: { remoteStatus: "TASK_STATUS_MARINATING" },
  },
  { name: "no status", faults: [task(undefined)], expected: running("Queued") },
  {
    name: "all of it but the status",
    faults: [task("TASK_STATUS_PROCESSING", {}, videos())],
    expected: running("Running"),
    status: { progressPercent: 100 },
  },
  { name: "success", faults: [good], expected: done, lifeSeconds: 3600 },
  { name: "success at progress 0", faults: [task(SUCCEEDED, { progress_percent: 0 }, videos())], expected: done },
  {
    name: "success, ttl 0",
    faults: [task(SUCCEEDED, {}, videos({ video_url_ttl: "0" }))],
    expected: done,
    lifeSeconds: 86_400,
  },
  {
    name: "success, ttl nonsense",
    faults: [task(SUCCEEDED, {}, videos({ video_url_ttl: "soon" }))],
    expected: done,
    lifeSeconds: 86_400,
  },
  {
    name: "success, null beside the list",
    faults: [task(SUCCEEDED, {}, { ...videos(), images: null, audios: null })],
    expected: done,
  },
  {
    name: "success with an image only",
    faults: [task(SUCCEEDED, {}, { images: [{ image_url: URL }] })],
    expected: done,
  },
  { name: "success with nothing", faults: [task(SUCCEEDED)], expected: running("Running") },
  {
    name: "success with null lists",
    faults: [task(SUCCEEDED, {}, { images: null, videos: null, audios: null })],
    expected: running("Running"),
  },
  {
    name: "success without a URL",
    faults: [task(SUCCEEDED, {}, videos({ video_url: "" }))],
    expected: running("Running"),
  },
  {
    name: "failed",
    faults: [task("TASK_STATUS_FAILED", { reason: "prompt refused" })],
    expected: failed("RemoteTaskFailed"),
    status: { reason: "prompt refused" },
  },
  { name: "failed without a word", faults: [task("TASK_STATUS_FAILED")], expected: failed("RemoteTaskFailed") },
  { name: "success with nothing at first", faults: twice(task(SUCCEEDED)), expected: done },
  { name: "429", faults: twice({ kind: "rateLimit", retryAfter: 1 }), expected: done },
  { name: "500", faults: twice(own(500, "INTERNAL_ERROR")), expected: done },
  { name: "a gateway's 502", faults: twice({ kind: "gatewayPage" }), expected: done },
  { name: "reset before", faults: twice({ kind: "resetBefore" }), expected: done },
  { name: "a page with 200", faults: twice(garbage("<html>hello</html>")), expected: done },
  { name: "no such task", faults: twice(own(404, "TASK_NOT_FOUND")), expected: done },
  { name: "a timeout", faults: [{ kind: "latency", latencyMs: 6000 }, good], expected: done, account: impatient },
  { name: "401 once", faults: [own(401, "UNAUTHORIZED"), good], expected: done },
];
