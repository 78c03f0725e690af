import type { Logger } from "pino";
import type { KubeObject } from "../kube/types.ts";
import type { Intent, IntentAccount, Journal, JournalEntry } from "./journal.ts";

/** What the status of an object shows of its last request. */
export type ShownRequest = {
  submission?:
    | {
        id: string;
        specHash: string;
        attempt: number;
        state: "Intended" | "Accepted" | "NotSent" | "Refused" | "Unknown";
        journal?: string | undefined;
        time: string;
      }
    | undefined;
  account?: IntentAccount | undefined;
  /** The status shows a request that is under way, or its effect, although no submission explains it: it was sent after this time. */
  unexplainedSince?: string | undefined;
};

/** The object of a request, and the operation that it pays for. */
export type Subject = Pick<Intent, "kind" | "key" | "uid" | "operation">;

/**
 * The journal entry of an object's request whose outcome the status does not show yet.
 *
 * The status shows each intent, with the ID of the journal, before the request is sent. If the journal has no entry for it:
 * - In the journal with this ID, the request was surely not sent, or had no effect.
 * - In any other journal the entry is lost: the journal was deleted or restored, or another installation sent the request. The
 *   outcome is unknown. The entry is restored to the journal.
 */
export function unsettledEntry(
  journal: Pick<Journal, "find" | "id" | "settle" | "restore">,
  subject: Subject,
  shown: ShownRequest,
  newID: () => string,
): JournalEntry | undefined {
  const { submission } = shown;
  const entry = journal.find(subject.uid);
  if (entry !== undefined && (entry.id !== submission?.id || submission.state === "Intended")) return entry;
  // The status has the outcome: the operator ended before it settled the entry.
  if (entry !== undefined) journal.settle(entry.id);

  const lost = lostEntry(journal, subject, shown, newID);
  if (lost === undefined) return undefined;
  journal.restore(lost);
  return journal.find(subject.uid);
}

/** The request that the status shows and that this journal cannot know. */
function lostEntry(
  journal: Pick<Journal, "id">,
  subject: Subject,
  { submission, account, unexplainedSince }: ShownRequest,
  newID: () => string,
): JournalEntry | undefined {
  if (submission?.state === "Intended") {
    if (submission.journal === journal.id()) return undefined;
    const { id, specHash, attempt, time } = submission;
    return { ...subject, id, specHash, attempt, time, account };
  }
  if (unexplainedSince === undefined) return undefined;
  const attempt = (submission?.attempt ?? 0) + 1;
  const time = submission?.time ?? unexplainedSince;
  return { ...subject, id: newID(), specHash: "unknown", attempt, time, account };
}

/** The attempt that follows a submission, counted from 1. A request without effect does not count. */
export function nextAttempt(submission: ShownRequest["submission"]): number {
  const { attempt = 0, state } = submission ?? {};
  return state === "Intended" || state === "NotSent" ? attempt : attempt + 1;
}

/** Journal entries whose object is deleted have no status to be written to: the log is their only report. */
export type SettleDeps = { journal: Pick<Journal, "entries" | "settle">; log: Pick<Logger, "warn"> };

export const GONE_MESSAGE = "the object of this submission is gone; it may have been sent and charged";

/**
 * Settles the entries of deleted objects that had this key. Call it from the key's own reconcile, while no submission of
 * the key is under way.
 * @param present UID of the object that has the key now; its entries stay
 */
export function settleGone(
  { journal, log }: SettleDeps,
  object: Pick<JournalEntry, "kind" | "key">,
  present?: string,
): void {
  for (const entry of journal.entries()) {
    if (entry.kind !== object.kind || entry.key !== object.key || entry.uid === present) continue;
    log.warn({ ...entry }, GONE_MESSAGE);
    journal.settle(entry.id);
  }
}

/** Settles, at a takeover, the entries that the previous leader left for objects that no longer exist. */
export function settleLeft(
  { journal, log }: SettleDeps,
  left: readonly JournalEntry[],
  objects: Iterable<KubeObject>,
): void {
  const uids = new Set([...objects].map(({ metadata }) => metadata.uid));
  for (const entry of left) {
    if (uids.has(entry.uid)) continue;
    log.warn({ ...entry }, GONE_MESSAGE);
    journal.settle(entry.id);
  }
}
