import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { JobResult } from "../../../../src/api/v1alpha1/job.ts";
import { observeHalted } from "../../../../src/controllers/jobs/halt.ts";
import {
  deadlineOf,
  type JobState,
  type Observation,
  type Observations,
  openRecordOf,
  type StateKind,
  stateOf,
} from "../../../../src/controllers/jobs/observations.ts";
import { MAX_UNKNOWN, observeAccepted, observeUnknown } from "../../../../src/controllers/jobs/observe.ts";
import { observeTask } from "../../../../src/controllers/jobs/polls.ts";
import { jobStatusOf } from "../../../../src/controllers/jobs/status.ts";
import { decide, JOB_TABLE } from "../../../../src/controllers/jobs/transitions.ts";
import type { Job, JobStatus } from "../../../../src/controllers/jobs/types.ts";
import type { TaskResult } from "../../../../src/provider/tasks/task-result.ts";
import { START } from "../../../support/fake-clock.ts";
import { recordOf, taskOf, video, videoJobOf } from "../../../support/jobs.ts";
import { contractBreach } from "../../../support/kstatus.ts";
import type { Change } from "../../../support/manifests.ts";

const submission = (attempt: number, state: "Accepted" | "Unknown" = "Accepted") => ({
  id: `intent-${attempt}`,
  specHash: "0123456789abcdef",
  attempt,
  state,
  time: "2026-03-01T00:00:00Z",
});
const submitted = (attempt: number): JobStatus => ({
  conditions: [],
  phase: "Running",
  taskID: "task-1",
  submission: submission(attempt),
  submitTime: "2026-03-01T00:00:00Z",
  firstSubmitTime: "2026-03-01T00:00:00Z",
});
const waiting: JobStatus = { conditions: [], phase: "Pending" };
const result: JobResult = { kind: "Video", url: "https://files.example.com/sea.mp4", type: "mp4" };
const account = { kind: "Account", name: "default", baseURL: "https://api.example.com" } as const;
const artifact = { uri: "s3://bucket/0.mp4", bytes: 1, sha256: "0" };

describe("where a job stands", () => {
  it.each<[string, JobStatus | undefined, Parameters<typeof stateOf>[1], JobState]>([
    ["new", undefined, undefined, { kind: "Waiting", attempt: 1 }],
    ["waiting", waiting, undefined, { kind: "Waiting", attempt: 1 }],
    ["submitted", submitted(1), undefined, { kind: "Tracking", taskID: "task-1" }],
    ["with a record and no outcome", waiting, recordOf(), { kind: "Sending", record: recordOf() }],
    [
      "submitted again, and nobody knows",
      submitted(1),
      recordOf({ attempt: 2 }),
      { kind: "Sending", record: recordOf({ attempt: 2 }) },
    ],
    ["halted", { ...submitted(1), phase: "Halted" }, undefined, { kind: "Halted" }],
    ["storing", { ...submitted(1), phase: "Storing" }, undefined, { kind: "Storing" }],
    [
      "with a task of an attempt that another replaced",
      { ...submitted(1), submission: submission(2, "Unknown") },
      undefined,
      { kind: "Waiting", attempt: 3 },
    ],
    ["succeeded", { ...submitted(1), phase: "Succeeded" }, undefined, { kind: "Succeeded" }],
    ["failed, whatever is still recorded", { ...submitted(1), phase: "Failed" }, recordOf(), { kind: "Failed" }],
  ])("%s", (_name, status, record, expected) => {
    expect(stateOf(status, record, false)).toEqual(expected);
  });

  it("finished, whatever is still under way", () => {
    expect(stateOf({ ...submitted(1), phase: "Failed" }, undefined, true)).toEqual({ kind: "Failed" });
    expect(stateOf(waiting, undefined, true)).toEqual({ kind: "Sending", record: undefined });
  });
});

describe("the request that a job shows without an outcome", () => {
  const { id, specHash, time } = recordOf();
  const intended = { id, specHash, attempt: 2, state: "Intended", time } as const;
  const openOf = (status: JobStatus) =>
    openRecordOf({ ...videoJobOf("image"), status: { ...status, account } as never }, "one");

  it("is open when another process recorded it, also one that a CRD of an earlier version does not name", () => {
    const open = { id, attempt: 2, operation: "submitImageToVideo", account };
    expect(openOf({ ...waiting, submission: { ...intended, sender: "two" } })).toMatchObject({
      ...open,
      sender: "two",
    });
    expect(openOf({ ...waiting, submission: intended })).toMatchObject({ ...open, sender: "" });
  });

  it("is not open when this process recorded it, when it has an outcome, and when the job has ended", () => {
    expect(openOf({ ...waiting, submission: { ...intended, sender: "one" } })).toBeUndefined();
    expect(openOf(submitted(1))).toBeUndefined();
    for (const phase of ["Succeeded", "Failed"] as const) {
      expect(openOf({ ...waiting, phase, submission: { ...intended, sender: "two" } })).toBeUndefined();
    }
  });

  it("is open when a status shows that it was sent, and lost its record", () => {
    expect(openOf({ ...waiting, phase: "Submitting" })).toMatchObject({ attempt: 1, sender: "" });
    expect(openOf({ ...waiting, phase: "Running" })).toMatchObject({ attempt: 1 });
    expect(openOf({ ...submitted(1), phase: "Pending", submission: undefined })).toMatchObject({
      attempt: 1,
      sender: "",
    });
    expect(openOf(waiting)).toBeUndefined();
  });

  it("has an ID that fits into the status, however often that happens", () => {
    let status: JobStatus = { ...waiting, phase: "Submitting" };
    for (let round = 0; round < 100; round++) {
      const open = openOf(status);
      if (open === undefined) throw new Error("not open");
      expect(open.id.length).toBeLessThanOrEqual(256);
      expect(open.id).not.toBe(status.submission?.id);
      const { id: shown, attempt } = open;
      status = { ...status, submission: { id: shown, attempt, specHash, state: "Unknown", time } };
    }
  });
});

/** One example of each observation. */
const record = recordOf();
const end = { reason: "InvalidSpec", message: "m" } as const;
const block = { reason: "RateLimited", message: "m", stalled: false } as const;
const examples: { [K in keyof Observations]: Observation<K> } = {
  Suspended: { kind: "Suspended" },
  PastDeadline: { kind: "PastDeadline", ...end },
  Blocked: { kind: "Blocked", ...block },
  MissingReference: { kind: "MissingReference", reason: "SecretNotFound", message: "m", references: [] },
  NotAdmitted: { kind: "NotAdmitted", ...block, brief: false },
  TooSoon: { kind: "TooSoon", until: START + 5_000 },
  BackingOff: { kind: "BackingOff", until: START + 5_000 },
  InvalidSpec: { kind: "InvalidSpec", ...end },
  Reused: {
    kind: "Reused",
    reuseKey: "ab",
    reused: { from: "VideoJob team/other", time: "2026-03-01T00:00:00Z", keys: ["k"] },
    results: [],
  },
  Clear: {
    kind: "Clear",
    request: {
      operation: "submitImageToVideo",
      consumption: { unit: "Seconds", quantity: 5 },
      body: {},
      send: async () => ({ taskID: "t" }),
    },
    attempt: 1,
  },
  UnderWay: { kind: "UnderWay", sent: true, since: START - 5_000 },
  UnderWayElsewhere: { kind: "UnderWayElsewhere" },
  Accepted: { kind: "Accepted", record, taskID: "task-1" },
  NotTaken: { kind: "NotTaken", ...block, record, until: START + 5_000 },
  Withdrawn: { kind: "Withdrawn", record, until: START },
  Refused: { kind: "Refused", ...end, record },
  Unknown: { kind: "Unknown", record, cause: "c" },
  UnknownButResubmit: { kind: "UnknownButResubmit", record, cause: "c" },
  Unusable: { kind: "Unusable", record, cause: "c", results: [] },
  Unreleased: { kind: "Unreleased", outdated: true },
  Released: { kind: "Released", token: "again" },
  Attachable: { kind: "Attachable", taskID: "task-1", account, submission: submission(1, "Unknown") },
  NotAttached: { kind: "NotAttached", reason: "TaskNotFound", message: "m", permanent: true },
  Unfinished: { kind: "Unfinished", result: taskOf("TASK_STATUS_PROCESSING") },
  PollsFailing: { kind: "PollsFailing", reason: "TaskNotFound", message: "m", since: START },
  PollsLost: { kind: "PollsLost", reason: "TaskNotFound", message: "m", since: START },
  TaskFailed: { kind: "TaskFailed", ...end },
  TaskFailedRetry: { kind: "TaskFailedRetry", message: "m" },
  Results: { kind: "Results", results: [result] },
  ResultsToStore: { kind: "ResultsToStore", results: [result] },
  NoResults: { kind: "NoResults", ...end, submitted: { record } },
  NotCopying: { kind: "NotCopying", results: [result] },
  Copying: { kind: "Copying", note: "n" },
  Stored: { kind: "Stored", results: [{ ...result, artifact }] },
  CopyFailed: { kind: "CopyFailed", results: [result], reason: "Retrying", message: "m", stalled: false },
  ResultsLost: { kind: "ResultsLost", ...end },
};
const statuses: Record<StateKind, JobStatus> = {
  Waiting: waiting,
  Sending: waiting,
  Halted: { ...waiting, phase: "Halted", submission: submission(1, "Unknown") },
  Tracking: submitted(1),
  Storing: { ...submitted(1), phase: "Storing", results: [result] },
  Succeeded: { ...submitted(1), phase: "Succeeded" },
  Failed: { ...submitted(1), phase: "Failed" },
};
const rows = Object.entries(JOB_TABLE).flatMap(([state, row]) =>
  Object.entries(row).map(([kind, row]) => [state as StateKind, kind as keyof Observations, row.next] as const),
);

describe("the table of jobs", () => {
  it.each(rows)("is true: %s and %s lead to %s", (from, kind, next) => {
    const job: Job = { ...videoJobOf("image", { backoffLimit: 3 }), status: statuses[from] as never };
    const state = stateOf(job.status, from === "Sending" ? record : undefined, false);
    expect(state.kind).toBe(from);
    const step = decide(state, examples[kind], { job, now: START });
    const status =
      step.outcome === undefined
        ? job.status
        : jobStatusOf(job, { written: step.written, cleared: step.cleared }, step.outcome, START);
    // The request is under way only when one was asked for, or goes on being so.
    const sending = step.send !== undefined || kind === "UnderWay" || kind === "UnderWayElsewhere";
    expect(stateOf(status, undefined, sending).kind).toBe(next);
    if (step.outcome !== undefined) expect(contractBreach(status?.conditions ?? [])).toBe("");
  });

  it("sends a paid request from one place only", () => {
    const sending = rows.filter(([from, kind]) => {
      const job: Job = { ...videoJobOf("image"), status: statuses[from] as never };
      const state = stateOf(job.status, from === "Sending" ? record : undefined, false);
      return decide(state, examples[kind], { job, now: START }).send !== undefined;
    });
    expect(sending.map(([from, kind]) => `${from} ${kind}`)).toEqual(["Waiting Clear"]);
  });

  it("is left by no finished job", () => {
    expect([JOB_TABLE.Succeeded, JOB_TABLE.Failed]).toEqual([{}, {}]);
    for (const kind of ["Succeeded", "Failed"] as const) {
      const job: Job = { ...videoJobOf("image"), status: statuses[kind] as never };
      expect(() => decide({ kind }, examples.Clear, { job, now: START })).toThrow("no row for");
    }
  });
});

function contextOf(change: Change, status: JobStatus | undefined, now = START) {
  const job = videoJobOf("image", change);
  return { job: { ...job, ...(status === undefined ? {} : { status }) }, now };
}

describe("an unknown submission", () => {
  const seen = (change: Change, attempt = 1, failedTasks = 0) =>
    observeUnknown({ record: recordOf({ attempt }) }, "c", contextOf(change, { ...waiting, failedTasks })).kind;
  it("halts, and is sent again under Resubmit", () => {
    expect(seen({})).toBe("Unknown");
    expect(seen({ onSubmissionUnknown: "Resubmit" })).toBe("UnknownButResubmit");
  });
  it("halts under Resubmit too when it goes on and on; failed tasks do not count", () => {
    expect(seen({ onSubmissionUnknown: "Resubmit" }, MAX_UNKNOWN)).toBe("Unknown");
    expect(seen({ onSubmissionUnknown: "Resubmit" }, MAX_UNKNOWN + 2, 3)).toBe("UnknownButResubmit");
  });
  it("is released by a new token, unless it is suspended", () => {
    const halted = statuses.Halted;
    expect(observeHalted(contextOf({}, halted), undefined).kind).toBe("Unreleased");
    expect(observeHalted(contextOf({}, halted), "again")).toEqual({ kind: "Released", token: "again" });
    expect(observeHalted(contextOf({ suspend: true }, halted), "again").kind).toBe("Unreleased");
    expect(observeHalted(contextOf({}, { ...halted, lastHandledResubmitToken: "again" }), "again").kind).toBe(
      "Unreleased",
    );
  });
});

describe("an accepted request", () => {
  const seen = (accepted: Parameters<typeof observeAccepted>[0], change: Change = {}) =>
    observeAccepted(accepted, { record }, videoJobOf("image", change).spec).kind;
  const output = { output: { storeRef: { name: "store" } } };
  it.each([
    ["a task", seen({ taskID: "t" }), "Accepted"],
    ["a URL", seen({ results: [result] }), "Results"],
    ["a URL that is to be copied", seen({ results: [result] }, output), "ResultsToStore"],
    ["bytes that are in the store", seen({ results: [{ kind: "Audio", artifact }] }, output), "Results"],
    ["nothing", seen({ results: [] }), "NoResults"],
  ])("that gave %s", (_name, kind, expected) => {
    expect(kind).toBe(expected);
  });
});

describe("a job whose task runs", () => {
  const seen = (task: TaskResult | undefined, change: Change = {}, status = submitted(1), now = START) =>
    observeTask(contextOf(change, status, now), "task-1", task && { result: task, at: START - 1_000 }, undefined);

  it.each<[string, TaskResult | undefined, Change, number, string]>([
    ["is followed before the first poll", undefined, {}, 0, "Unfinished"],
    ["is followed while it is queued", taskOf("TASK_STATUS_QUEUED"), {}, 0, "Unfinished"],
    ["is followed in a state that nobody knows", taskOf("TASK_STATUS_MARINATING"), {}, 0, "Unfinished"],
    ["is followed in no state at all", taskOf(""), {}, 0, "Unfinished"],
    [
      "is not complete by its progress",
      taskOf("TASK_STATUS_PROCESSING", { progressPercent: 100, videos: [video] }),
      {},
      0,
      "Unfinished",
    ],
    ["succeeds with a result", taskOf("TASK_STATUS_SUCCEED", { videos: [video] }), {}, 0, "Results"],
    [
      "is copied when that is asked for",
      taskOf("TASK_STATUS_SUCCEED", { videos: [video] }),
      { output: { storeRef: { name: "store" } } },
      0,
      "ResultsToStore",
    ],
    [
      "succeeds whatever its progress says",
      taskOf("TASK_STATUS_SUCCEED", { progressPercent: 0, audios: [video] }),
      {},
      0,
      "Results",
    ],
    ["is followed when it succeeds with nothing", taskOf("TASK_STATUS_SUCCEED"), {}, 0, "Unfinished"],
    [
      "is followed when it succeeds without a URL, and is not paid again",
      taskOf("TASK_STATUS_SUCCEED", { videos: [{ url: "", type: "mp4" }] }),
      { backoffLimit: 3 },
      0,
      "Unfinished",
    ],
    ["fails with it", taskOf("TASK_STATUS_FAILED"), {}, 0, "TaskFailed RemoteTaskFailed"],
    [
      "is paid again as often as backoffLimit says",
      taskOf("TASK_STATUS_FAILED"),
      { backoffLimit: 2 },
      0,
      "TaskFailedRetry",
    ],
    ["is paid again a last time", taskOf("TASK_STATUS_FAILED"), { backoffLimit: 2 }, 1, "TaskFailedRetry"],
    ["fails after that", taskOf("TASK_STATUS_FAILED"), { backoffLimit: 2 }, 2, "TaskFailed BackoffLimitExceeded"],
  ])("%s", (_name, task, change, failedTasks, expected) => {
    const observation = seen(task, change, { ...submitted(1), failedTasks });
    expect("reason" in observation ? `${observation.kind} ${observation.reason}` : observation.kind).toBe(expected);
  });

  it.each<[string, TaskResult | undefined, number, string, number?]>([
    ["is followed up to its deadline", taskOf("TASK_STATUS_PROCESSING"), 59_999, "Unfinished"],
    ["fails at its deadline", taskOf("TASK_STATUS_PROCESSING"), 60_000, "PastDeadline", 60_000],
    [
      "is followed past its deadline until a poll is newer",
      taskOf("TASK_STATUS_PROCESSING"),
      61_000,
      "Unfinished",
      59_999,
    ],
    ["is followed past its deadline when no poll has succeeded", undefined, 60_000, "Unfinished"],
    [
      "succeeds when the result is there, however late",
      taskOf("TASK_STATUS_SUCCEED", { videos: [video] }),
      90_000,
      "Results",
    ],
  ])("%s", (_name, task, afterMs, expected, polledMs = -1_000) => {
    const late = contextOf({ activeDeadlineSeconds: 60 }, submitted(1), START + afterMs);
    const polled = task && { result: task, at: START + polledMs };
    expect(observeTask(late, "task-1", polled, undefined).kind).toBe(expected);
  });

  it("says what the service said, and what to do", () => {
    expect(seen(taskOf("TASK_STATUS_FAILED", { reason: "prompt refused" }))).toMatchObject({
      message: "Task task-1 failed: prompt refused: create a new VideoJob to try again",
    });
    expect(seen(taskOf("TASK_STATUS_FAILED"), { backoffLimit: 1 }, { ...submitted(1), failedTasks: 1 })).toMatchObject({
      message: expect.stringMatching(/^2 tasks failed, backoffLimit is 1\. Task task-1 failed: the service gives no/),
    });
  });

  it("has no deadline before it was submitted; after that it counts over all attempts", () => {
    const job = videoJobOf("image", { activeDeadlineSeconds: 60 });
    expect(deadlineOf({ ...job, status: waiting })).toBeUndefined();
    const status = { ...submitted(2), submitTime: "2026-03-01T00:00:30Z" };
    expect(deadlineOf({ ...job, status })).toBe(START + 60_000);
    expect(deadlineOf({ ...videoJobOf("image"), status: submitted(1) })).toBeUndefined();
  });

  it("waits longer after each failed task: 10 s, 20 s, 40 s, as batch/v1 Job", () => {
    const waits = [0, 1, 2, 9].map((failedTasks) => {
      const job = { ...videoJobOf("image", { backoffLimit: 10 }), status: { ...submitted(1), failedTasks } as never };
      return decide({ kind: "Tracking", taskID: "task-1" }, examples.TaskFailedRetry, { job, now: START }).againMs;
    });
    expect(waits).toEqual([10_000, 20_000, 40_000, 360_000]);
  });
});

describe("whatever the service answers", () => {
  const states = fc.oneof(
    fc.constantFrom("TASK_STATUS_SUCCEED", "TASK_STATUS_FAILED", "TASK_STATUS_QUEUED", "TASK_STATUS_PROCESSING", ""),
    fc.string(),
  );
  const results = fc
    .record({ status: states, progressPercent: fc.double(), eta: fc.double(), hasVideo: fc.boolean() })
    .map(({ status, progressPercent, eta, hasVideo }) =>
      taskOf(status, { progressPercent, eta, videos: hasVideo ? [video] : [] }),
    );

  it("a job is never paid more often than backoffLimit + 1 times", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 10 }), fc.array(results, { maxLength: 60 }), (backoffLimit, polls) => {
        const plain = videoJobOf("image", { backoffLimit });
        let job: Job = { ...plain, status: submitted(1) as never };
        let paid = 1;
        for (const task of polls) {
          const state = stateOf(job.status, undefined, false);
          if (state.kind === "Waiting") {
            paid = state.attempt;
            job = { ...plain, status: { ...submitted(paid), failedTasks: job.status?.failedTasks } as never };
            continue;
          }
          if (state.kind !== "Tracking") break;
          const seen = observeTask(
            contextOf({ backoffLimit }, job.status),
            state.taskID,
            { result: task, at: START },
            undefined,
          );
          const { outcome, ...change } = decide(state, seen, { job, now: START });
          if (outcome !== undefined) job = { ...plain, status: jobStatusOf(job, change, outcome, START) as never };
        }
        expect(paid).toBeLessThanOrEqual(backoffLimit + 1);
      }),
    );
  });
});
