import type { JobResult } from "../../api/v1alpha1/job.ts";
import type { BoundAccount } from "../../api/v1alpha1/meta.ts";
import type { Reason } from "../../api/v1alpha1/reasons.ts";
import type { TaskResult } from "../../provider/tasks/task-result.ts";
import type { Wait } from "../../submission/account-line.ts";
import type { JournalEntry } from "../../submission/journal.ts";
import { resultsFrom } from "./results.ts";
import type { StateKind } from "./states.ts";
import type { Accepted, Job, JobSpec, JobStatus, PaidRequest } from "./types.ts";

/**
 * Why something cannot go on now. `stalled`: a person must act; otherwise it goes on by itself. `againMs`: nobody tells when it
 * can go on, so it is looked at again.
 */
export type Block = { reason: Reason; message: string; stalled: boolean; againMs?: number };
type End = { reason: Reason; message: string; result?: TaskResult | undefined; entry?: JournalEntry | undefined };
/** The remote has done its work. `entry`: of a request that gave the results at once. */
type Delivery = {
  results: JobResult[];
  result?: TaskResult | undefined;
  submitted?: Submitted | undefined;
};
/** What goes into the status of a request that may have been taken. */
export type Submitted = { entry: JournalEntry; account: BoundAccount | undefined; firstAudioMs?: number | undefined };

/** All that can be seen of a job and the world around it, by kind, with what is known then. Times in ms since the epoch. */
export type Observations = {
  // Before a request
  Suspended: object;
  PastDeadline: End;
  /** An account or a store does not let it go now. */
  Blocked: Block;
  /** The account's admission holds the job back; the job is told when it has a place. `brief`: too short to be shown. */
  NotAdmitted: Block & { brief: boolean };
  /** A failed task, or an unknown submission under Resubmit, is followed by a pause that the status shows. */
  TooSoon: { until: number };
  /** The service said no for now; the status says so already. */
  Resting: { until: number };
  InvalidSpec: End;
  Clear: { request: PaidRequest };

  // What became of a request
  /** `sent`: it left; before that it waits for the account's rate limit. */
  UnderWay: { sent: boolean; since: number; firstAudioMs?: number | undefined };
  Accepted: Submitted & { taskID: string };
  /** Surely without effect, and not for good. */
  NotTaken: Block & { entry: JournalEntry | undefined; until: number };
  /** Nothing left: the job was suspended, changed or deleted before. */
  Withdrawn: { until: number };
  Refused: End & { account: BoundAccount | undefined };
  Unknown: Submitted & { cause: string };
  UnknownButResubmit: Submitted & { cause: string };

  // A halted job
  Unreleased: object;
  Released: { token: string };

  // A task
  Unfinished: { result: TaskResult | undefined };
  TaskFailed: End;
  TaskFailedRetry: { message: string };

  // Results
  Results: Delivery;
  ResultsToStore: Delivery;
  NoResults: End & { submitted?: Submitted | undefined };

  // A copy
  NotCopying: object;
  Copying: { note: string };
  Stored: { results: JobResult[] };
  CopyFailed: { results: JobResult[]; reason: Reason; message: string; stalled: boolean };
  /** Repeating the copy can never help. */
  ResultsLost: End;
};

export type ObservationKind = keyof Observations;
export type Seen<K extends ObservationKind = ObservationKind> = {
  [P in K]: { kind: P } & Observations[P];
}[K];

/** What can be seen of a job in each state. Nothing moves a finished one. */
export type SeenIn = {
  Waiting: "Suspended" | "PastDeadline" | "Blocked" | "NotAdmitted" | "TooSoon" | "Resting" | "InvalidSpec" | "Clear";
  Sending:
    | "UnderWay"
    | "Accepted"
    | "Results"
    | "ResultsToStore"
    | "NoResults"
    | "NotTaken"
    | "Withdrawn"
    | "Refused"
    | "Unknown"
    | "UnknownButResubmit";
  Halted: "Unreleased" | "Released";
  Tracking:
    | "Blocked"
    | "Unfinished"
    | "Results"
    | "ResultsToStore"
    | "NoResults"
    | "TaskFailed"
    | "TaskFailedRetry"
    | "PastDeadline";
  Storing: "Blocked" | "Resting" | "NotCopying" | "Copying" | "Stored" | "CopyFailed" | "ResultsLost";
  Succeeded: never;
  Failed: never;
};
export type SeenBy<S extends StateKind> = Seen<SeenIn[S]>;

/** Unknown submissions of a job after which also `onSubmissionUnknown: Resubmit` asks a person. */
export const MAX_UNKNOWN = 10;

type Facts = { job: Job; spec: JobSpec; status: JobStatus | undefined; now: number };

/** How long a turn or a request may take before the status shows it: most take less. */
export const SHOW_SENDING_AFTER_MS = 1_500;

/** A job that the account's admission holds back. */
export function seenWaiting({ job, now }: Facts, { reason, message }: Wait): Seen<"NotAdmitted"> {
  const age = now - Date.parse(job.metadata.creationTimestamp ?? "");
  const brief = reason === "RateLimited" && !(age >= SHOW_SENDING_AFTER_MS);
  return { kind: "NotAdmitted", reason, message, stalled: false, brief };
}

/** What came of a request that the service took. */
export function seenAccepted(accepted: Accepted, submitted: Submitted, spec: JobSpec): SeenBy<"Sending"> {
  if ("taskID" in accepted) return { kind: "Accepted", ...submitted, taskID: accepted.taskID };
  const withAudio = { ...submitted, firstAudioMs: accepted.firstAudioMs };
  return seenResults(accepted.results, spec, "the service took the request, and", { submitted: withAudio });
}

/** Nobody knows what became of a request. */
export function seenUnknown(submitted: Submitted, cause: string, { spec, status }: Facts): SeenBy<"Sending"> {
  const unknown = submitted.entry.attempt - (status?.failedTasks ?? 0);
  const again = spec.onSubmissionUnknown === "Resubmit" && unknown < MAX_UNKNOWN;
  return { kind: again ? "UnknownButResubmit" : "Unknown", ...submitted, cause };
}

/** A job that halted: a new value of the annotation, and no `suspend`, releases it. */
export function seenHalted({ spec, status }: Facts, token: string | undefined): SeenBy<"Halted"> {
  if (spec.suspend || token === undefined || token === status?.lastHandledResubmitToken) return { kind: "Unreleased" };
  return { kind: "Released", token };
}

/** What the last poll of a task says, and the deadline when it says nothing final. */
export function seenTask(
  facts: Facts,
  taskID: string,
  observation: { result: TaskResult; at: number } | undefined,
  block: Block | undefined,
): SeenBy<"Tracking"> {
  const { spec } = facts;
  const result = observation?.result;
  if (observation !== undefined && result?.task.state === "Succeeded") {
    return seenResults(resultsFrom(result, observation.at), spec, `Task ${taskID}`, { result });
  }
  if (result?.task.state === "Failed") return seenFailure(facts, taskID, result);
  const late = pastDeadline(facts);
  if (late !== undefined) return { ...late, result };
  return block === undefined ? { kind: "Unfinished", result } : { kind: "Blocked", ...block };
}

function seenFailure({ job, spec, status }: Facts, taskID: string, result: TaskResult): SeenBy<"Tracking"> {
  const failures = (status?.failedTasks ?? 0) + 1;
  const words = result.task.reason === "" ? "the service gives no reason" : result.task.reason;
  const message = `Task ${taskID} failed: ${words}`;
  if (failures <= spec.backoffLimit) return { kind: "TaskFailedRetry", message };
  const advice = `create a new ${job.kind} to try again`;
  return spec.backoffLimit > 0
    ? {
        kind: "TaskFailed",
        reason: "BackoffLimitExceeded",
        message: `${failures} tasks failed, backoffLimit is ${spec.backoffLimit}. ${message}: ${advice}`,
        result,
      }
    : { kind: "TaskFailed", reason: "RemoteTaskFailed", message: `${message}: ${advice}`, result };
}

function seenResults(
  results: JobResult[],
  spec: JobSpec,
  what: string,
  from: { result?: TaskResult; submitted?: Submitted },
): Seen<"Results" | "ResultsToStore" | "NoResults"> {
  if (results.length === 0) {
    const message = `${what} succeeded without any result: ask the service about it, it may have been charged`;
    return { kind: "NoResults", reason: "NoResult", message, ...from };
  }
  const kept = spec.output === undefined || results.every(({ artifact }) => artifact !== undefined);
  return { kind: kept ? "Results" : "ResultsToStore", results, ...from };
}

/** As batch/v1 Job: counted over all attempts, and stronger than backoffLimit. */
export function pastDeadline({ job, spec, status, now }: Facts): Seen<"PastDeadline"> | undefined {
  const deadline = deadlineOf(spec, status);
  if (deadline === undefined || now < deadline) return undefined;
  const task = status?.taskID === undefined ? "The job" : `Task ${status.taskID}`;
  const message = `${task} did not finish within activeDeadlineSeconds ${spec.activeDeadlineSeconds}: it may still run and be charged; create a new ${job.kind} to try again`;
  return { kind: "PastDeadline", reason: "DeadlineExceeded", message };
}

/** When the job fails for its deadline, ms since the epoch; counted from the first submission, remote queueing included. */
export function deadlineOf(spec: JobSpec, status: JobStatus | undefined): number | undefined {
  if (spec.activeDeadlineSeconds === undefined || status?.firstSubmitTime === undefined) return undefined;
  return Date.parse(status.firstSubmitTime) + spec.activeDeadlineSeconds * 1000;
}
