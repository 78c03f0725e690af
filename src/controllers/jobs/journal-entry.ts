import { keyOf } from "../../kube/types.ts";
import { hasUnsettledEntry, type ShownRequest, type Subject, unsettledEntry } from "../../submission/intents.ts";
import type { Journal, JournalEntry } from "../../submission/journal.ts";
import type { ControllerDeps } from "../controller-deps.ts";
import { type Job, paidOperation } from "./types.ts";

/** The journal entry of the job whose outcome its status does not show. */
export function entryOf(
  { journal, newID }: Pick<ControllerDeps, "journal" | "newID">,
  kind: string,
  job: Job,
): JournalEntry | undefined {
  return unsettledEntry(journal, subjectOf(kind, job), shownRequest(job), newID);
}

/** Whether the job has such an entry. Changes nothing. */
export function hasEntry(journal: Pick<Journal, "entriesOf" | "covers">, kind: string, job: Job): boolean {
  return hasUnsettledEntry(journal, subjectOf(kind, job), shownRequest(job));
}

function subjectOf(kind: string, job: Job): Subject {
  return { kind, key: keyOf(job), uid: job.metadata.uid, operation: paidOperation(job) };
}

function shownRequest({ metadata, status }: Job): ShownRequest {
  const { phase, submission, account } = status ?? {};
  const remote = phase === "Queued" || phase === "Running";
  const unexplained = phase === "Submitting" || (remote && submission === undefined);
  return {
    submission,
    account,
    unexplainedSince: unexplained ? metadata.creationTimestamp : undefined,
    finished: phase === "Succeeded" || phase === "Failed",
  };
}
