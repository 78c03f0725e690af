import { setConditions } from "../../../src/api/v1alpha1/conditions.ts";
import { PENDING_STATUS } from "../../../src/api/v1alpha1/meta.ts";
import { type JobOutcome, jobStatusOf } from "../../../src/controllers/jobs/status.ts";
import { jobResults } from "../../../src/controllers/jobs/tasks.ts";
import type { Job, JobStatus } from "../../../src/controllers/jobs/types.ts";
import { START } from "../fake-clock.ts";
import { taskOf, video, videoJobOf } from "../jobs.ts";
import type { Verdict } from "../kstatus.ts";

const early = "2026-02-28T23:00:00Z";

export const running: JobStatus = {
  phase: "Running",
  taskID: "task-1",
  startTime: early,
  conditions: setConditions(
    PENDING_STATUS.conditions,
    [{ type: "Reconciling", status: "True", reason: "Running", message: "" }],
    early,
  ),
};
export const suspended: JobStatus = {
  phase: "Pending",
  conditions: setConditions(
    PENDING_STATUS.conditions,
    [{ type: "Suspended", status: "True", reason: "Suspended", message: "" }],
    early,
  ),
};
export const halted: JobStatus = {
  ...running,
  phase: "Halted",
  reason: "SubmissionUnknown",
  conditions: setConditions(
    running.conditions,
    [{ type: "Stalled", status: "True", reason: "SubmissionUnknown", message: "" }],
    early,
  ),
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
  return { ...job, status: jobStatusOf(job, {}, outcome, START) };
}

export type JobRow = [
  name: string,
  before: JobStatus,
  outcome: JobOutcome,
  spec: object,
  phase: string,
  conditions: string[],
  verdict: Verdict,
];

export const wait = { phase: "Pending", reason: "RateLimited", message: "429" } as const;

/** Every state of a job, with its phase and conditions, and how kstatus reads it. */
export const JOB_STATES: JobRow[] = [
  [
    "that waits",
    PENDING_STATUS,
    { ...wait, stalled: false },
    {},
    "Pending",
    ["Ready=False/RateLimited", "Reconciling=True/RateLimited"],
    "InProgress",
  ],
  [
    "that a person must help",
    PENDING_STATUS,
    { ...wait, stalled: true },
    {},
    "Pending",
    ["Ready=False/RateLimited", "Stalled=True/RateLimited"],
    "Failed",
  ],
  [
    "that is suspended",
    PENDING_STATUS,
    { phase: "Suspended" },
    { suspend: true },
    "Pending",
    ["Ready=False/Suspended", "Suspended=True/Suspended"],
    "InProgress",
  ],
  [
    "that was suspended and waits",
    suspended,
    { ...wait, stalled: false },
    {},
    "Pending",
    ["Ready=False/RateLimited", "Reconciling=True/RateLimited", "Suspended=False/Resumed"],
    "InProgress",
  ],
  [
    "that is just submitted",
    PENDING_STATUS,
    active(undefined),
    {},
    "Queued",
    ["Ready=False/Queued", "Reconciling=True/Queued"],
    "InProgress",
  ],
  [
    "that is queued at the remote",
    PENDING_STATUS,
    active("TASK_STATUS_QUEUED"),
    {},
    "Queued",
    ["Ready=False/Queued", "Reconciling=True/Queued"],
    "InProgress",
  ],
  [
    "that is processed",
    PENDING_STATUS,
    active("TASK_STATUS_PROCESSING"),
    {},
    "Running",
    ["Ready=False/Running", "Reconciling=True/Running"],
    "InProgress",
  ],
  [
    "in a state that nobody knows",
    PENDING_STATUS,
    active("TASK_STATUS_MARINATING"),
    {},
    "Queued",
    ["Ready=False/Queued", "Reconciling=True/Queued"],
    "InProgress",
  ],
  [
    "that ran and is in a state that nobody knows",
    running,
    active("TASK_STATUS_MARINATING"),
    {},
    "Running",
    ["Ready=False/Running", "Reconciling=True/Running"],
    "InProgress",
  ],
  [
    "that makes progress in a state that nobody knows",
    PENDING_STATUS,
    active("X", { progressPercent: 5 }),
    {},
    "Running",
    ["Ready=False/Running", "Reconciling=True/Running"],
    "InProgress",
  ],
  [
    "that ran and is queued again, for a further attempt",
    running,
    active("TASK_STATUS_QUEUED"),
    {},
    "Queued",
    ["Ready=False/Queued", "Reconciling=True/Queued"],
    "InProgress",
  ],
  [
    "suspended too late",
    running,
    active("TASK_STATUS_PROCESSING"),
    { suspend: true },
    "Running",
    ["Ready=False/Running", "Reconciling=True/Running", "Suspended=False/AlreadySubmitted"],
    "InProgress",
  ],
  [
    "whose account is held while it runs",
    running,
    { phase: "Active", result: undefined, note: { reason: "AccountNotReady", message: "", stalled: false } },
    {},
    "Running",
    ["Ready=False/AccountNotReady", "Reconciling=True/AccountNotReady"],
    "InProgress",
  ],
  [
    "that must not be followed, for its account is another one now",
    running,
    { phase: "Active", result: undefined, note: { reason: "AccountMismatch", message: "", stalled: true } },
    {},
    "Running",
    ["Ready=False/AccountMismatch", "Stalled=True/AccountMismatch"],
    "Failed",
  ],
  [
    "whose request is under way",
    PENDING_STATUS,
    { phase: "Submitting" },
    {},
    "Submitting",
    ["Ready=False/Submitting", "Reconciling=True/Submitting"],
    "InProgress",
  ],
  [
    "that was suspended while its request is under way",
    PENDING_STATUS,
    { phase: "Submitting" },
    { suspend: true },
    "Submitting",
    ["Ready=False/Submitting", "Reconciling=True/Submitting", "Suspended=False/AlreadySubmitted"],
    "InProgress",
  ],
  [
    "whose results are being copied",
    running,
    { phase: "Storing", result: undefined, results, reason: "Storing", message: "", stalled: false },
    {},
    "Storing",
    ["Ready=False/Storing", "Reconciling=True/Storing", "ResultsAvailable=True/Available"],
    "InProgress",
  ],
  [
    "whose results cannot be copied",
    running,
    { phase: "Storing", result: undefined, results, reason: "StoreNotReady", message: "", stalled: true },
    {},
    "Storing",
    ["Ready=False/StoreNotReady", "ResultsAvailable=True/Available", "Stalled=True/StoreNotReady"],
    "Failed",
  ],
  [
    "whose results were copied",
    running,
    { phase: "Succeeded", result: undefined, results: stored },
    {},
    "Succeeded",
    ["Complete=True/Completed", "Ready=True/Completed", "ResultsAvailable=True/Stored"],
    "Current",
  ],
  [
    "that may have been sent",
    running,
    { phase: "Halted", reason: "SubmissionUnknown", message: "look" },
    {},
    "Halted",
    ["Ready=False/SubmissionUnknown", "Stalled=True/SubmissionUnknown"],
    "Failed",
  ],
  [
    "that was halted and is submitted",
    halted,
    active(undefined),
    {},
    "Queued",
    ["Ready=False/Queued", "Reconciling=True/Queued"],
    "InProgress",
  ],
  [
    "that succeeded",
    running,
    { phase: "Succeeded", result: undefined, results },
    {},
    "Succeeded",
    ["Complete=True/Completed", "Ready=True/Completed", "ResultsAvailable=True/Available"],
    "Current",
  ],
  [
    "that failed",
    running,
    { phase: "Failed", reason: "RemoteTaskFailed", message: "no", result: undefined },
    {},
    "Failed",
    ["Failed=True/RemoteTaskFailed", "Ready=False/RemoteTaskFailed", "Stalled=True/RemoteTaskFailed"],
    "Failed",
  ],
  [
    "whose results were lost before they were copied",
    jobAfter(running, { phase: "Storing", result: undefined, results, reason: "Storing", message: "", stalled: false })
      .status,
    { phase: "Failed", reason: "NoResult", message: "no", result: undefined },
    {},
    "Failed",
    ["Failed=True/NoResult", "Ready=False/NoResult", "ResultsAvailable=False/Expired", "Stalled=True/NoResult"],
    "Failed",
  ],
];
