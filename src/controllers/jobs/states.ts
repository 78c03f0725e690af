import type { JournalEntry } from "../../submission/journal.ts";
import type { JobStatus } from "./types.ts";

/** Where a job stands. Read from its status, the journal and what is under way in this process; nothing else is remembered. */
export type JobState =
  /** Nothing is sent, or all that was sent has ended without a result. `attempt` is the next one, counted from 1. */
  | { kind: "Waiting"; attempt: number }
  /** A paid request is on its way, or was: its outcome is not in the status yet. */
  | { kind: "Sending"; entry: JournalEntry | undefined }
  /** Nobody knows what became of the request; a person decides. */
  | { kind: "Halted" }
  /** The service has a task of ours. */
  | { kind: "Tracking"; taskID: string }
  /** The remote has succeeded; the results are being copied to the store. */
  | { kind: "Storing" }
  | { kind: "Succeeded" }
  | { kind: "Failed" };

export type StateKind = JobState["kind"];

/** @param entry the journal's, unless its outcome stands in the status already @param sending a request is under way here */
export function stateOf(status: JobStatus | undefined, entry: JournalEntry | undefined, sending: boolean): JobState {
  const { phase, submission, taskID } = status ?? {};
  if (phase === "Succeeded" || phase === "Failed") return { kind: phase };
  if (sending || entry !== undefined) return { kind: "Sending", entry };
  if (phase === "Halted" || phase === "Storing") return { kind: phase };
  // A task belongs to the submission that was accepted last; a later attempt replaces it.
  if (taskID !== undefined && submission?.state === "Accepted") return { kind: "Tracking", taskID };
  return { kind: "Waiting", attempt: (submission?.attempt ?? 0) + 1 };
}
