import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type Decision,
  deadlineOf,
  decide,
  type JobFacts,
  type JobState,
  stateOf,
} from "../../../../src/controllers/jobs/machine.ts";
import type { JobStatus } from "../../../../src/controllers/jobs/types.ts";
import type { TaskResult } from "../../../../src/service/task-result.ts";
import { START } from "../../../support/fake-clock.ts";
import { entryOf, taskOf, video, videoJobOf } from "../../../support/jobs.ts";
import type { Change } from "../../../support/manifests.ts";

const submission = (attempt: number, state = "Accepted" as const) => ({
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
});

function facts(state: JobState, change: Change = {}, more: Partial<JobFacts> = {}): JobFacts {
  return {
    spec: videoJobOf("image", change).spec,
    status: undefined,
    state,
    resubmitToken: undefined,
    observation: undefined,
    now: START,
    ...more,
  };
}

const summary = (decision: Decision): string =>
  decision.do === "Submit"
    ? `Submit attempt ${decision.attempt}`
    : decision.do === "Fail"
      ? `Fail ${decision.reason}`
      : decision.do;

describe("where a job stands", () => {
  const waiting: JobStatus = { conditions: [], phase: "Pending" };
  it.each<[string, JobStatus | undefined, Parameters<typeof stateOf>[1], JobState]>([
    ["new", undefined, undefined, { kind: "Waiting" }],
    ["waiting", waiting, undefined, { kind: "Waiting" }],
    ["submitted", submitted(1), undefined, { kind: "Submitted", taskID: "task-1" }],
    ["with an intent and no outcome", waiting, entryOf(), { kind: "Unresolved", entry: entryOf() }],
    [
      "with an outcome that is only in the journal",
      waiting,
      entryOf({ outcome: { taskID: "task-1" } }),
      { kind: "Accepted", entry: entryOf({ outcome: { taskID: "task-1" } }), outcome: { taskID: "task-1" } },
    ],
    [
      "submitted again, and nobody knows",
      submitted(1),
      entryOf({ attempt: 2 }),
      { kind: "Unresolved", entry: entryOf({ attempt: 2 }) },
    ],
    ["halted", { ...submitted(1), phase: "Halted" }, undefined, { kind: "Halted" }],
    [
      "with a task of an attempt that another replaced",
      { ...submitted(1), submission: { ...submission(2), state: "Unknown" } },
      undefined,
      { kind: "Waiting" },
    ],
    ["succeeded", { ...submitted(1), phase: "Succeeded" }, undefined, { kind: "Finished" }],
    ["failed, whatever the journal still holds", { ...submitted(1), phase: "Failed" }, entryOf(), { kind: "Finished" }],
  ])("%s", (_name, status, entry, expected) => {
    expect(stateOf(status, entry)).toEqual(expected);
  });
});

describe("a job that was not submitted", () => {
  it.each<[string, JobFacts, string]>([
    ["is submitted", facts({ kind: "Waiting" }), "Submit attempt 1"],
    ["waits while it is suspended", facts({ kind: "Waiting" }, { suspend: true }), "Suspend"],
    ["halts when nobody knows whether it was sent", facts({ kind: "Unresolved", entry: entryOf() }), "Halt"],
    [
      "is sent again under Resubmit when nobody knows",
      facts({ kind: "Unresolved", entry: entryOf({ attempt: 2 }) }, { onSubmissionUnknown: "Resubmit" }),
      "Submit attempt 3",
    ],
    [
      "is written down when the journal knows that it was accepted",
      facts({ kind: "Accepted", entry: entryOf(), outcome: { taskID: "task-1" } }, { suspend: true }),
      "Record",
    ],
    ["stays halted", facts({ kind: "Halted" }, {}, { status: submitted(1) }), "Nothing"],
    [
      "is released by a new token, as a further attempt",
      facts({ kind: "Halted" }, {}, { status: submitted(1), resubmitToken: "again" }),
      "Submit attempt 2",
    ],
    [
      "is not sent again while it is suspended, whatever onSubmissionUnknown says",
      facts({ kind: "Unresolved", entry: entryOf() }, { onSubmissionUnknown: "Resubmit", suspend: true }),
      "Suspend",
    ],
    [
      "keeps its new token for later while it is suspended",
      facts({ kind: "Halted" }, { suspend: true }, { status: submitted(1), resubmitToken: "again" }),
      "Nothing",
    ],
    ["is finished and stays so", facts({ kind: "Finished" }, {}, { resubmitToken: "again" }), "Nothing"],
  ])("%s", (_name, given, expected) => {
    expect(summary(decide(given))).toBe(expected);
  });
});

describe("a job whose task runs", () => {
  const tracked = (result: TaskResult | undefined, change: Change = {}, attempt = 1, now = START) =>
    decide(
      facts({ kind: "Submitted", taskID: "task-1" }, change, {
        status: submitted(attempt),
        observation: result && { result, at: START - 1_000 },
        now,
      }),
    );

  it.each<[string, TaskResult | undefined, Change, number, string]>([
    ["is followed before the first poll", undefined, {}, 1, "Track"],
    ["is followed while it is queued", taskOf("TASK_STATUS_QUEUED"), {}, 1, "Track"],
    ["is followed while it is processed", taskOf("TASK_STATUS_PROCESSING"), {}, 1, "Track"],
    ["is followed in a state that nobody knows", taskOf("TASK_STATUS_MARINATING"), {}, 1, "Track"],
    ["is followed in no state at all", taskOf(""), {}, 1, "Track"],
    [
      "is not complete by its progress",
      taskOf("TASK_STATUS_PROCESSING", { progressPercent: 100, videos: [video] }),
      {},
      1,
      "Track",
    ],
    ["succeeds with a result", taskOf("TASK_STATUS_SUCCEED", { videos: [video] }), {}, 1, "Succeed"],
    [
      "succeeds whatever its progress says",
      taskOf("TASK_STATUS_SUCCEED", { progressPercent: 3, audios: [video] }),
      {},
      1,
      "Succeed",
    ],
    ["has failed when it succeeds with nothing", taskOf("TASK_STATUS_SUCCEED"), {}, 1, "Fail NoResult"],
    [
      "has failed when it succeeds without a URL",
      taskOf("TASK_STATUS_SUCCEED", { videos: [{ url: "", type: "mp4" }] }),
      { backoffLimit: 3 },
      1,
      "Fail NoResult",
    ],
    ["fails with it", taskOf("TASK_STATUS_FAILED"), {}, 1, "Fail RemoteTaskFailed"],
    [
      "is paid again as often as backoffLimit says",
      taskOf("TASK_STATUS_FAILED"),
      { backoffLimit: 2 },
      1,
      "Submit attempt 2",
    ],
    ["is paid again a last time", taskOf("TASK_STATUS_FAILED"), { backoffLimit: 2 }, 2, "Submit attempt 3"],
    ["fails after the last attempt", taskOf("TASK_STATUS_FAILED"), { backoffLimit: 2 }, 3, "Fail BackoffLimitExceeded"],
    [
      "is not paid again while it is suspended",
      taskOf("TASK_STATUS_FAILED"),
      { backoffLimit: 2, suspend: true },
      1,
      "Suspend",
    ],
    [
      "goes on although it is suspended: the remote cannot be stopped",
      taskOf("TASK_STATUS_PROCESSING"),
      { suspend: true },
      1,
      "Track",
    ],
  ])("%s", (_name, result, change, attempt, expected) => {
    expect(summary(tracked(result, change, attempt))).toBe(expected);
  });

  it.each<[string, TaskResult | undefined, number, string]>([
    ["is followed up to its deadline", taskOf("TASK_STATUS_PROCESSING"), 59_999, "Track"],
    ["fails at its deadline", taskOf("TASK_STATUS_PROCESSING"), 60_000, "Fail DeadlineExceeded"],
    ["fails at its deadline also when no poll has succeeded", undefined, 60_000, "Fail DeadlineExceeded"],
    [
      "succeeds when the result is there, however late it is seen",
      taskOf("TASK_STATUS_SUCCEED", { videos: [video] }),
      90_000,
      "Succeed",
    ],
  ])("%s", (_name, result, afterMs, expected) => {
    expect(summary(tracked(result, { activeDeadlineSeconds: 60 }, 1, START + afterMs))).toBe(expected);
  });

  it("says what the service said, and what to do", () => {
    const reason = "prompt refused";
    expect(tracked(taskOf("TASK_STATUS_FAILED", { reason }))).toMatchObject({
      message: "Task task-1 failed: prompt refused: create a new job to try again",
    });
    expect(tracked(taskOf("TASK_STATUS_FAILED"), { backoffLimit: 1 }, 2)).toMatchObject({
      message: expect.stringMatching(/^2 attempts; Task task-1 failed: the service gives no reason/),
    });
  });

  it("has no deadline before it was submitted", () => {
    const { spec } = videoJobOf("image", { activeDeadlineSeconds: 60 });
    expect(deadlineOf(spec, { conditions: [] })).toBeUndefined();
    expect(deadlineOf(spec, submitted(1))).toBe(START + 60_000);
    expect(deadlineOf(videoJobOf("image").spec, submitted(1))).toBeUndefined();
  });

  it("tells when the result was returned: its URLs live from then", () => {
    expect(tracked(taskOf("TASK_STATUS_SUCCEED", { videos: [video] }))).toMatchObject({ at: START - 1_000 });
  });
});

describe("whatever the service answers", () => {
  const statuses = fc.oneof(
    fc.constantFrom("TASK_STATUS_SUCCEED", "TASK_STATUS_FAILED", "TASK_STATUS_QUEUED", "TASK_STATUS_PROCESSING", ""),
    fc.string(),
  );
  const results = fc
    .record({ status: statuses, progressPercent: fc.double(), eta: fc.double(), hasVideo: fc.boolean() })
    .map(({ status, progressPercent, eta, hasVideo }) =>
      taskOf(status, { progressPercent, eta, videos: hasVideo ? [video] : [] }),
    );

  it("a job is never paid more often than backoffLimit + 1 times", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 10 }), fc.array(results, { maxLength: 60 }), (backoffLimit, polls) => {
        let attempt = 1;
        for (const result of polls) {
          const decision = decide(
            facts(
              { kind: "Submitted", taskID: "task-1" },
              { backoffLimit },
              {
                status: submitted(attempt),
                observation: { result, at: START },
              },
            ),
          );
          if (decision.do === "Submit") attempt = decision.attempt;
          else if (decision.do !== "Track") break;
        }
        expect(attempt).toBeLessThanOrEqual(backoffLimit + 1);
      }),
    );
  });

  it("an unknown submission is never sent again under Halt", () => {
    fc.assert(
      fc.property(fc.option(results, { nil: undefined }), fc.boolean(), fc.string(), (result, suspend, token) => {
        const decision = decide(
          facts(
            { kind: "Unresolved", entry: entryOf() },
            { suspend },
            {
              resubmitToken: token,
              observation: result && { result, at: START },
            },
          ),
        );
        expect(decision.do).toBe("Halt");
      }),
    );
  });
});
