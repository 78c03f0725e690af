import { isDeepStrictEqual } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FaultInput } from "../../../src/simulator/faults.ts";
import { refusalBody } from "../../../src/simulator/refusal.ts";
import { kstatusOf } from "../../support/kstatus.ts";
import { manifest, type Variant } from "../../support/manifests.ts";
import { type AnyObject, condition } from "../../support/world.ts";
import { createStage, type Stage } from "../stage/stage.ts";

/** A fault without the calls that it is for. */
type Fault = FaultInput extends infer F ? (F extends FaultInput ? Omit<F, "operation" | "match"> : never) : never;

/** What a person reads in the status; attempts that were paid, and calls that were sent, at least. */
type Outcome = { phase: string; reason: string; kstatus: string; attempts?: number; calls: number };

type AnswerRow = { name: string; faults: Fault[]; expected: Outcome; account?: Record<string, unknown> };

const own = (status: number, reason: string): Fault => ({
  kind: "status",
  status,
  body: refusalBody(status, reason, "the service's own words"),
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
const SUBMIT_ANSWERS: readonly AnswerRow[] = [
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
type PollRow = AnswerRow & { status?: Record<string, unknown>; lifeSeconds?: number };

const running = (phase: string): Outcome => ({ phase, reason: phase, kstatus: "InProgress", attempts: 1, calls: 1 });
const done = completed(1);
const twice = (fault: Fault): Fault[] => [{ ...fault, times: 2 } as Fault, good];

/** Every answer to the question for a task. */
const POLL_ANSWERS: readonly PollRow[] = [
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

type Way = { variant: Variant; operation: string; textOf: (text: string) => Record<string, unknown> };
const WAYS: Record<string, Way> = {
  hd: { variant: "hd", operation: "submitSpeech", textOf: (text) => ({ text }) },
  turbo: { variant: "turbo", operation: "synthesizeSpeech", textOf: (text) => ({ text }) },
  image: {
    variant: "image",
    operation: "submitImageToVideo",
    textOf: (text) => ({ imageToVideo: { prompt: text } }),
  },
  reference: {
    variant: "reference",
    operation: "submitVideoToVideo",
    textOf: (text) => ({ videoToVideo: { input: { prompt: text } } }),
  },
};

/** One job of the table: a name that is also its text, its faults, and what comes of it. */
type Case = {
  name: string;
  title: string;
  way: Way;
  spec: Record<string, unknown>;
  faults: FaultInput[];
  account: Record<string, unknown>;
  expected: Outcome;
  row: PollRow;
};

/** What was answered before the row's answer: from which state the paid request goes out. */
const BEFORE: Record<
  string,
  { faults: (way: Way, name: string) => FaultInput[]; spec: Record<string, unknown>; attempts: number; calls: number }
> = {
  "first attempt": { faults: () => [], spec: {}, attempts: 0, calls: 0 },
  "sent again after an unknown submission": {
    faults: ({ operation }, match) => [{ operation, match, kind: "resetAfter" }],
    spec: { onSubmissionUnknown: "Resubmit" },
    attempts: 1,
    calls: 1,
  },
  "paid again after a failed task": {
    faults: ({ operation }, match) => [
      { operation, match, kind: "status", status: 200, body: { task_id: `${match}-first` } },
      {
        operation: "getTaskResult",
        match: `${match}-first`,
        kind: "status",
        status: 200,
        probability: 1,
        body: { task: { status: "TASK_STATUS_FAILED" } },
      },
    ],
    spec: { backoffLimit: 1 },
    attempts: 1,
    calls: 1,
  },
};

function submitCase(row: AnswerRow, index: number, way: Way, before: keyof typeof BEFORE): Case {
  const { faults, spec, attempts, calls } = BEFORE[before] as (typeof BEFORE)[string];
  const name = `submit-${index}-${way.operation.toLowerCase()}-${Object.keys(BEFORE).indexOf(before)}`;
  // Under Resubmit what nobody knows is sent once more, and then all is well. What the service accepted is not.
  const again = row.expected.reason === "SubmissionUnknown" && "onSubmissionUnknown" in spec;
  const base: Outcome = again
    ? { phase: "Succeeded", reason: "Completed", kstatus: "Current", attempts: 2, calls: 2 }
    : row.expected;
  const paid = base.attempts ?? 0;
  return {
    name,
    title: `${way.operation}, ${before}: ${row.name}`,
    way,
    spec: { ...way.textOf(name), ...spec },
    faults: [
      ...faults(way, name),
      ...row.faults.map((fault): FaultInput => ({ ...fault, operation: way.operation, match: name })),
    ],
    account: row.account ?? {},
    expected: {
      ...base,
      ...(paid + attempts === 0 ? {} : { attempts: paid + attempts }),
      calls: base.calls + calls,
    },
    row,
  };
}

function pollCase(row: PollRow, index: number, way: Way): Case {
  const name = `poll-${index}-${way.operation.toLowerCase()}`;
  const taskID = `task-of-${name}`;
  return {
    name,
    title: `${way.operation}, task: ${row.name}`,
    way,
    spec: way.textOf(name),
    faults: [
      { operation: way.operation, match: name, kind: "status", status: 200, body: { task_id: taskID } },
      ...row.faults.map((fault): FaultInput => ({ ...fault, operation: "getTaskResult", match: taskID })),
    ],
    account: row.account ?? {},
    expected: row.expected.phase === "Failed" ? { ...row.expected, attempts: 1 } : row.expected,
    row,
  };
}

const ways = (...names: string[]) => names.flatMap((name) => WAYS[name] ?? []);
const CASES: Case[] = [
  ...SUBMIT_ANSWERS.flatMap((row, index) => [
    ...ways("hd", "turbo", "image", "reference").map((way) => submitCase(row, index, way, "first attempt")),
    ...ways("image").map((way) => submitCase(row, index, way, "sent again after an unknown submission")),
    ...ways("hd").map((way) => submitCase(row, index, way, "paid again after a failed task")),
  ]),
  ...POLL_ANSWERS.flatMap((row, index) => ways("hd", "reference").map((way) => pollCase(row, index, way))),
];

describe("every state of a job, every answer of the service", () => {
  let world: Stage;
  let calls: Map<string, number>;
  const jobs = new Map<string, AnyObject>();

  beforeAll(async () => {
    world = await createStage({ account: null, simulator: { timeScale: 0.1 } });
    await world.control(
      "POST",
      "/__faults",
      CASES.flatMap(({ faults }) => faults),
    );
    // An account for each job: a refused key or a breaker of one is nothing to the others.
    for (const { name, account } of CASES) {
      const spec = {
        baseURL: "http://service.invalid",
        apiKeySecretRef: { name: "key", key: "apiKey" },
        rateLimit: { requestsPerSecond: 1000, burst: 1000 },
        ...account,
      };
      await world.apply({ kind: "Account", metadata: { name }, spec });
    }
    world.start();
    for (const { name, way, spec } of CASES) {
      await world.apply(manifest(way.variant, { ...spec, accountRef: { kind: "Account", name } }, name));
    }
    await world
      .eventually(
        "all jobs are where they belong",
        async () => {
          for (const kind of ["SpeechJob", "VideoJob"]) {
            for (const job of await world.list(kind)) if (!isKept(job.metadata.name)) jobs.set(job.metadata.name, job);
          }
          return CASES.every(
            ({ name, expected }) => jobs.get(name)?.status?.phase === expected.phase && settled(name, expected),
          );
        },
        240_000,
      )
      .catch(() => undefined); // each case says below what it is instead
    // The service records a call when its latency ends, after the operator gave it up.
    await world.pass(10_000);
    calls = new Map();
    for (const { operation, body } of await world.audit()) {
      const text = JSON.stringify(body ?? "");
      const one = CASES.find(({ name, way }) => way.operation === operation && text.includes(`"${name}"`));
      if (one !== undefined) calls.set(one.name, (calls.get(one.name) ?? 0) + 1);
    }
  });
  afterAll(() => world.end());

  /** A job whose polls fail shows that after a minute. Until the other jobs have settled, its earlier status counts. */
  const isKept = (name: string) => {
    const { expected, row } = CASES.find((one) => one.name === name) ?? {};
    const shown = jobs.get(name)?.status;
    if (expected === undefined || shown?.phase !== expected.phase || !settled(name, expected)) return false;
    const isComplete = Object.entries(row?.status ?? {}).every(([field, value]) =>
      isDeepStrictEqual(shown[field], value),
    );
    return isComplete && ["Queued", "Running"].includes(expected.phase);
  };
  const settled = (name: string, { reason }: Outcome) => {
    const job = jobs.get(name);
    return job !== undefined && condition(job, "Ready")?.reason === reason;
  };

  it.each(CASES.map((one) => [one.title, one] as const))("%s", (_title, { name, expected, row }) => {
    const job = jobs.get(name);
    if (job?.status?.conditions === undefined) throw new Error(`${name} has no status`);
    const status = { ...job.status, conditions: job.status.conditions } as Parameters<typeof kstatusOf>[0]["status"];
    const shown: Outcome = {
      phase: String(job.status.phase),
      reason: condition(job, "Ready")?.reason ?? "",
      kstatus: kstatusOf({ metadata: job.metadata, ...(status === undefined ? {} : { status }) }),
      ...(job.status.attempts === undefined ? {} : { attempts: Number(job.status.attempts) }),
      calls: calls.get(name) ?? 0,
    };
    expect(shown, JSON.stringify(job.status, null, 1)).toEqual(expected);
    if (row.status !== undefined) expect(job.status).toMatchObject(row.status);
    if (row.lifeSeconds !== undefined) {
      const lifeMs = Date.parse(String(job.status.resultsExpireAt)) - Date.parse(String(job.status.completionTime));
      expect(Math.abs(lifeMs / 1000 - row.lifeSeconds)).toBeLessThanOrEqual(5);
    }
  });
});
