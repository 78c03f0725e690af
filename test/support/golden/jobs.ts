import { PENDING_STATUS } from "../../../src/api/v1alpha1/meta.ts";
import { type JobOutcome, jobStatusOf } from "../../../src/controllers/jobs/status.ts";
import { jobResults } from "../../../src/controllers/jobs/tasks.ts";
import type { Job, JobStatus } from "../../../src/controllers/jobs/types.ts";
import { START } from "../fake-clock.ts";
import { taskOf, video, videoJobOf } from "../jobs.ts";
import { conditionsOf } from "../kstatus.ts";

const early = "2026-02-28T23:00:00Z";

export const running: JobStatus = {
  phase: "Running",
  taskID: "task-1",
  startTime: early,
  conditions: conditionsOf("Reconciling=True/Running", PENDING_STATUS.conditions),
};
export const suspended: JobStatus = {
  phase: "Pending",
  conditions: conditionsOf("Suspended=True/Suspended", PENDING_STATUS.conditions),
};
export const halted: JobStatus = {
  ...running,
  phase: "Halted",
  reason: "SubmissionUnknown",
  conditions: conditionsOf("Stalled=True/SubmissionUnknown", running.conditions),
};
export const results = jobResults([{ kind: "Video", ...video }], START);
const artifact = { uri: "s3://bucket/0.mp4", bytes: 9, sha256: "0".repeat(64) };
export const stored = results.map((result) => ({ ...result, artifact }));
export const active = (status: string | undefined, change = {}): JobOutcome => ({
  phase: "Active",
  result: status === undefined ? undefined : taskOf(status, change),
});

/** A job after an outcome. */
export function jobAfter(before: JobStatus | undefined, outcome: JobOutcome, spec = {}): Job & { status: JobStatus } {
  const job = videoJobOf("image", spec, before);
  job.metadata.creationTimestamp = "2026-02-28T00:00:00Z";
  return { ...job, status: jobStatusOf(job, {}, outcome, START) };
}

type JobRow = [name: string, before: JobStatus, outcome: JobOutcome, shows: string, spec?: object];

export const wait = { phase: "Pending", reason: "RateLimited", message: "429" } as const;

/** Every state of a job, with what `shows` tells of it. */
export const JOB_STATES: JobRow[] = [
  [
    "that waits",
    PENDING_STATUS,
    { ...wait, stalled: false },
    "Pending, InProgress: Ready=False/RateLimited Reconciling=True/RateLimited",
  ],
  [
    "that a person must help",
    PENDING_STATUS,
    { ...wait, stalled: true },
    "Pending, Failed: Ready=False/RateLimited Stalled=True/RateLimited",
  ],
  [
    "that is suspended",
    PENDING_STATUS,
    { phase: "Suspended" },
    "Pending, InProgress: Ready=False/Suspended Suspended=True/Suspended",
    { suspend: true },
  ],
  [
    "that was suspended and waits",
    suspended,
    { ...wait, stalled: false },
    "Pending, InProgress: Ready=False/RateLimited Reconciling=True/RateLimited Suspended=False/Resumed",
  ],
  [
    "that is just submitted",
    PENDING_STATUS,
    active(undefined),
    "Queued, InProgress: Ready=False/Queued Reconciling=True/Queued",
  ],
  [
    "that is queued at the remote",
    PENDING_STATUS,
    active("TASK_STATUS_QUEUED"),
    "Queued, InProgress: Ready=False/Queued Reconciling=True/Queued",
  ],
  [
    "that is processed",
    PENDING_STATUS,
    active("TASK_STATUS_PROCESSING"),
    "Running, InProgress: Ready=False/Running Reconciling=True/Running",
  ],
  [
    "in a state that nobody knows",
    PENDING_STATUS,
    active("TASK_STATUS_MARINATING"),
    "Queued, InProgress: Ready=False/Queued Reconciling=True/Queued",
  ],
  [
    "that ran and is in a state that nobody knows",
    running,
    active("TASK_STATUS_MARINATING"),
    "Running, InProgress: Ready=False/Running Reconciling=True/Running",
  ],
  [
    "that makes progress in a state that nobody knows",
    PENDING_STATUS,
    active("X", { progressPercent: 5 }),
    "Running, InProgress: Ready=False/Running Reconciling=True/Running",
  ],
  [
    "that ran and is queued again, for a further attempt",
    running,
    active("TASK_STATUS_QUEUED"),
    "Queued, InProgress: Ready=False/Queued Reconciling=True/Queued",
  ],
  [
    "suspended too late",
    running,
    active("TASK_STATUS_PROCESSING"),
    "Running, InProgress: Ready=False/Running Reconciling=True/Running Suspended=False/AlreadySubmitted",
    { suspend: true },
  ],
  [
    "whose account is held while it runs",
    running,
    { phase: "Active", result: undefined, note: { reason: "AccountNotReady", message: "", stalled: false } },
    "Running, InProgress: Ready=False/AccountNotReady Reconciling=True/AccountNotReady",
  ],
  [
    "that must not be followed, for its account is another one now",
    running,
    { phase: "Active", result: undefined, note: { reason: "AccountMismatch", message: "", stalled: true } },
    "Running, Failed: Ready=False/AccountMismatch Stalled=True/AccountMismatch",
  ],
  [
    "whose request is under way",
    PENDING_STATUS,
    { phase: "Submitting" },
    "Submitting, InProgress: Ready=False/Submitting Reconciling=True/Submitting",
  ],
  [
    "that was suspended while its request is under way",
    PENDING_STATUS,
    { phase: "Submitting" },
    "Submitting, InProgress: Ready=False/Submitting Reconciling=True/Submitting Suspended=False/AlreadySubmitted",
    { suspend: true },
  ],
  [
    "whose results are being copied",
    running,
    { phase: "Storing", result: undefined, results, reason: "Storing", message: "", stalled: false },
    "Storing, InProgress: Ready=False/Storing Reconciling=True/Storing ResultsAvailable=True/Available",
  ],
  [
    "whose results cannot be copied",
    running,
    { phase: "Storing", result: undefined, results, reason: "StoreNotReady", message: "", stalled: true },
    "Storing, Failed: Ready=False/StoreNotReady ResultsAvailable=True/Available Stalled=True/StoreNotReady",
  ],
  [
    "whose results were copied",
    running,
    { phase: "Succeeded", result: undefined, results: stored },
    "Succeeded, Current: Complete=True/Completed Ready=True/Completed ResultsAvailable=True/Stored",
  ],
  [
    "that may have been sent",
    running,
    { phase: "Halted", reason: "SubmissionUnknown", message: "look" },
    "Halted, Failed: Ready=False/SubmissionUnknown Stalled=True/SubmissionUnknown",
  ],
  [
    "that was halted and is submitted",
    halted,
    active(undefined),
    "Queued, InProgress: Ready=False/Queued Reconciling=True/Queued",
  ],
  [
    "that succeeded",
    running,
    { phase: "Succeeded", result: undefined, results },
    "Succeeded, Current: Complete=True/Completed Ready=True/Completed ResultsAvailable=True/Available",
  ],
  [
    "that failed",
    running,
    { phase: "Failed", reason: "RemoteTaskFailed", message: "no", result: undefined },
    "Failed, Failed: Failed=True/RemoteTaskFailed Ready=False/RemoteTaskFailed Stalled=True/RemoteTaskFailed",
  ],
  [
    "whose results were lost before they were copied",
    jobAfter(running, { phase: "Storing", result: undefined, results, reason: "Storing", message: "", stalled: false })
      .status,
    { phase: "Failed", reason: "NoResult", message: "no", result: undefined },
    "Failed, Failed: Failed=True/NoResult Ready=False/NoResult ResultsAvailable=False/Expired Stalled=True/NoResult",
  ],
];
