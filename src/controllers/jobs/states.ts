import { nextAttempt } from "../../submission/intents.ts";
import type { JournalEntry } from "../../submission/journal.ts";
import type { JobStatus } from "./types.ts";

/** The state of a job. It derives from the status, the journal and the requests under way in this process. */
export type JobState =
  /** Nothing is sent, or everything that was sent ended without a result. `attempt`: the next one, counted from 1. */
  | { kind: "Waiting"; attempt: number }
  /** A paid request is under way, or its outcome is not in the status yet. */
  | { kind: "Sending"; entry: JournalEntry | undefined }
  /** The outcome of the request is unknown. A user decides what happens next. */
  | { kind: "Halted" }
  /** The service has accepted a task. */
  | { kind: "Tracking"; taskID: string }
  /** The task has succeeded. The results are copied to the store. */
  | { kind: "Storing" }
  | { kind: "Succeeded" }
  | { kind: "Failed" };

export type StateKind = JobState["kind"];

/** @param entry the journal entry whose outcome is not in the status yet @param sending a request is under way in this process */
export function stateOf(status: JobStatus | undefined, entry: JournalEntry | undefined, sending: boolean): JobState {
  const { phase, submission, taskID } = status ?? {};
  if (phase === "Succeeded" || phase === "Failed") return { kind: phase };
  if (sending || entry !== undefined) return { kind: "Sending", entry };
  if (phase === "Halted" || phase === "Storing") return { kind: phase };
  // A task belongs to the submission that was accepted last. A later attempt replaces it.
  if (taskID !== undefined && submission?.state === "Accepted") return { kind: "Tracking", taskID };
  return { kind: "Waiting", attempt: nextAttempt(submission) };
}
