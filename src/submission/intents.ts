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
 * The status shows each intent, with the ID of the object's shard of the journal, before the request is sent. If the journal has
 * no entry for it:
 * - If the journal covers this ID, the request was surely not sent, or had no effect.
 * - Otherwise the entry is lost: the shard was deleted or restored, or another installation sent the request. The outcome is
 *   unknown. The entry is restored to the journal.
 */
export function unsettledEntry(
  journal: Pick<Journal, "find" | "covers" | "settle" | "restore">,
  subject: Subject,
  shown: ShownRequest,
  newID: () => string,
): JournalEntry | undefined {
  for (let entry = journal.find(subject.uid); entry !== undefined; entry = journal.find(subject.uid)) {
    if (!isReported(entry, shown)) return entry;
    journal.settle(entry.id); // the operator ended before it settled the entry
  }

  const lost = lostEntry(journal, subject, shown, newID);
  if (lost === undefined) return undefined;
  journal.restore(lost);
  return journal.find(subject.uid);
}

/**
 * Whether the status has the outcome of an entry. An earlier version that could not see the entry has gone on from the status: a
 * later submission replaces it.
 */
function isReported({ id, bypassed }: JournalEntry, { submission }: ShownRequest): boolean {
  if (submission === undefined) return false;
  return submission.id === id ? submission.state !== "Intended" : bypassed === true;
}

/** The request that the status shows and that this journal cannot know. */
function lostEntry(
  journal: Pick<Journal, "covers">,
  subject: Subject,
  { submission, account, unexplainedSince }: ShownRequest,
  newID: () => string,
): JournalEntry | undefined {
  if (submission?.state === "Intended") {
    if (journal.covers(subject.uid, submission.journal)) return undefined;
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
export type SettleDeps = { journal: Pick<Journal, "entriesOf" | "settle">; log: Pick<Logger, "warn"> };

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
  for (const entry of journal.entriesOf(object)) {
    if (entry.uid === present) continue;
    log.warn({ ...entry }, GONE_MESSAGE);
    journal.settle(entry.id);
  }
}

/** Settles, at a takeover, the entries that the previous leader left for objects that no longer exist. */
export function settleLeft(
  { journal, log }: Pick<SettleDeps, "log"> & { journal: Pick<Journal, "settle"> },
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
