import type { Reason } from "../../api/reasons.ts";
import type { JournalEntry } from "../../runtime/journal.ts";
import { resultsOf, type TaskResult } from "../../service/task-result.ts";
import type { TaskObservation } from "./poller.ts";
import type { JobSpec, JobStatus } from "./types.ts";

/** Where a job stands, read from its status and the journal alone. */
export type JobState =
  | { kind: "Finished" }
  /** Nothing was sent, or what was sent was surely refused. */
  | { kind: "Waiting" }
  /** An intent without an outcome: it may have been sent. */
  | { kind: "Unresolved"; entry: JournalEntry }
  /** The outcome is in the journal and not yet in the status. */
  | { kind: "Accepted"; entry: JournalEntry; outcome: Record<string, string> }
  | { kind: "Halted" }
  | { kind: "Submitted"; taskID: string };

export type JobFacts = {
  spec: JobSpec;
  status: JobStatus | undefined;
  state: JobState;
  /** A new value of the resubmit annotation. */
  resubmitToken: string | undefined;
  observation: TaskObservation | undefined;
  /** Milliseconds since the epoch. */
  now: number;
};

export type Decision =
  | { do: "Nothing" }
  | { do: "Suspend" }
  | { do: "Submit"; attempt: number }
  /** The outcome of an earlier submission goes into the status. */
  | { do: "Record"; entry: JournalEntry; outcome: Record<string, string> }
  | { do: "Halt"; entry: JournalEntry | undefined }
  | { do: "Track"; taskID: string; result: TaskResult | undefined }
  | { do: "Succeed"; result: TaskResult; at: number }
  | { do: "Fail"; reason: Reason; message: string; result: TaskResult | undefined };

/** Values of a task's status; the interface shows only the first, the others are known elsewhere. */
export const TASK_STATUS = {
  succeeded: "TASK_STATUS_SUCCEED",
  failed: "TASK_STATUS_FAILED",
  queued: "TASK_STATUS_QUEUED",
  processing: "TASK_STATUS_PROCESSING",
} as const;

export function stateOf(status: JobStatus | undefined, entry: JournalEntry | undefined): JobState {
  const phase = status?.phase;
  if (phase === "Succeeded" || phase === "Failed") return { kind: "Finished" };
  if (entry !== undefined) {
    return entry.outcome === undefined
      ? { kind: "Unresolved", entry }
      : { kind: "Accepted", entry, outcome: entry.outcome };
  }
  if (phase === "Halted") return { kind: "Halted" };
  // A taskID belongs to the submission that was accepted last; a later attempt replaces it.
  if (status?.taskID !== undefined && status.submission?.state === "Accepted") {
    return { kind: "Submitted", taskID: status.taskID };
  }
  return { kind: "Waiting" };
}

/**
 * One table of (state, observation) -> what to do. Pure. A terminal phase is never left, and nothing is submitted, for
 * the first time or again, while `spec.suspend` is true.
 */
export function decide(facts: JobFacts): Decision {
  const { spec, status, state, observation } = facts;
  const attempt = (status?.submission?.attempt ?? 0) + 1;
  switch (state.kind) {
    case "Finished":
      return { do: "Nothing" };
    case "Accepted":
      return { do: "Record", entry: state.entry, outcome: state.outcome };
    case "Unresolved":
      if (spec.onSubmissionUnknown === "Halt") return { do: "Halt", entry: state.entry };
      return spec.suspend ? { do: "Suspend" } : { do: "Submit", attempt: state.entry.attempt + 1 };
    case "Halted":
      return facts.resubmitToken === undefined || spec.suspend ? { do: "Nothing" } : { do: "Submit", attempt };
    case "Waiting":
      return spec.suspend ? { do: "Suspend" } : { do: "Submit", attempt };
    case "Submitted":
      return decideSubmitted(facts, state.taskID, observation?.result, observation?.at, attempt);
  }
}

function decideSubmitted(
  facts: JobFacts,
  taskID: string,
  result: TaskResult | undefined,
  at: number | undefined,
  attempt: number,
): Decision {
  const { spec, status, now } = facts;
  if (result?.task.status === TASK_STATUS.succeeded) {
    if (resultsOf(result).length > 0) return { do: "Succeed", result, at: at ?? now };
    const message = `Task ${taskID} succeeded without any result: ask the service about it, it may have been charged`;
    return { do: "Fail", reason: "NoResult", message, result };
  }
  if (result?.task.status === TASK_STATUS.failed) {
    if (attempt <= spec.backoffLimit + 1) return spec.suspend ? { do: "Suspend" } : { do: "Submit", attempt };
    const words = result.task.reason === "" ? "the service gives no reason" : result.task.reason;
    const message = `Task ${taskID} failed: ${words}: create a new job to try again`;
    return spec.backoffLimit > 0
      ? { do: "Fail", reason: "BackoffLimitExceeded", message: `${attempt - 1} attempts; ${message}`, result }
      : { do: "Fail", reason: "RemoteTaskFailed", message, result };
  }
  const deadline = deadlineOf(spec, status);
  if (deadline !== undefined && now >= deadline) {
    const message = `Task ${taskID} did not finish within activeDeadlineSeconds ${spec.activeDeadlineSeconds}: it may still run and be charged; create a new job to try again`;
    return { do: "Fail", reason: "DeadlineExceeded", message, result };
  }
  return { do: "Track", taskID, result };
}

/** When the job fails for its deadline, ms since the epoch; counted from the submission, remote queueing included. */
export function deadlineOf(spec: JobSpec, status: JobStatus | undefined): number | undefined {
  if (spec.activeDeadlineSeconds === undefined || status?.submitTime === undefined) return undefined;
  return Date.parse(status.submitTime) + spec.activeDeadlineSeconds * 1000;
}
