import type { Logger } from "pino";
import type { Resource } from "../kube/resource.ts";
import type { KubeObject } from "../kube/types.ts";
import type { Result } from "../runtime/controller.ts";
import type { ObjectReader } from "../runtime/object-reader.ts";
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
        keyVersion?: string | undefined;
        time: string;
      }
    | undefined;
  account?: IntentAccount | undefined;
  /** The status shows a request that is under way, or its effect, although no submission explains it: it was sent after this time. */
  unexplainedSince?: string | undefined;
  /** The object is in a terminal phase: no outcome of a request changes its status. Default: false. */
  finished?: boolean | undefined;
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
 *   unknown. The entry is restored to the journal, with the version of the key if the status shows it.
 *
 * An entry is settled when its object is finished, or when the status has its outcome or shows a later request: the operator ended
 * before it settled the entry, or the ConfigMap was restored.
 */
export function unsettledEntry(
  journal: Pick<Journal, "find" | "covers" | "settle" | "restore">,
  subject: Subject,
  shown: ShownRequest,
  newID: () => string,
): JournalEntry | undefined {
  for (let entry = journal.find(subject.uid); entry !== undefined; entry = journal.find(subject.uid)) {
    if (!isReported(entry, shown)) return entry;
    journal.settle(entry.id);
  }

  const lost = lostEntry(journal, subject, shown, newID);
  if (lost === undefined) return undefined;
  journal.restore(lost);
  return journal.find(subject.uid);
}

/**
 * Whether the object has an entry as of `unsettledEntry`: a request can have been sent whose outcome the status does not show. Changes
 * nothing.
 */
export function hasUnsettledEntry(
  journal: Pick<Journal, "entriesOf" | "covers">,
  subject: Subject,
  shown: ShownRequest,
): boolean {
  const entries = journal.entriesOf(subject).filter(({ uid }) => uid === subject.uid);
  return (
    entries.some((entry) => !isReported(entry, shown)) || lostEntry(journal, subject, shown, () => "") !== undefined
  );
}

/**
 * Whether the status has the outcome of an entry, or shows a later request. A request has the attempt that follows the status
 * (`nextAttempt`), so an entry of an earlier attempt is older than the status. Of two requests of the same attempt, either can be the
 * older one: a list can show an earlier status. An earlier version that could not see the entry has gone on from the status.
 */
function isReported({ id, attempt, bypassed }: JournalEntry, { submission, finished }: ShownRequest): boolean {
  if (finished === true) return true;
  if (submission === undefined) return false;
  if (submission.id === id) return submission.state !== "Intended";
  return bypassed === true || attempt < nextAttempt(submission);
}

/** The request that the status shows and that this journal cannot know. */
function lostEntry(
  journal: Pick<Journal, "covers">,
  subject: Subject,
  { submission, account, unexplainedSince, finished }: ShownRequest,
  newID: () => string,
): JournalEntry | undefined {
  if (finished === true) return undefined;
  if (submission?.state === "Intended") {
    if (journal.covers(subject.uid, submission.journal)) return undefined;
    const { id, specHash, attempt, keyVersion, time } = submission;
    return { ...subject, id, specHash, attempt, account, ...(keyVersion && { keyVersion }), time };
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
export type SettleDeps = {
  journal: Pick<Journal, "entriesOf" | "settle">;
  reader: ObjectReader;
  log: Pick<Logger, "warn">;
};

/** The key of objects, and their kind. */
export type ObjectKey = { resource: Resource; key: string };

export const GONE_MESSAGE = "the object of this submission is gone; it may have been sent and charged";

/** The API server has the object, and the store does not have it yet. */
const NOT_LISTED_MS = 2_000;
/** The operator may not read the object. */
const FORBIDDEN_MS = 60_000;

/**
 * Settles the entries of deleted objects that had this key. Call it from the key's own reconcile, while no submission of
 * the key is under way. The store can lag, so that it does not show a new object yet: a consistent read decides, and the entry of an
 * object that exists stays. Without such an entry, nothing is read.
 * @param present UID of the object that has the key in the store; its entries stay
 * @returns when to call it again
 * @throws KubeError when the read fails; every entry stays
 */
export async function settleGone(
  deps: SettleDeps,
  { resource, key }: ObjectKey,
  present: string | undefined,
  signal: AbortSignal,
): Promise<Result> {
  const missing = deps.journal.entriesOf({ kind: resource.kind, key }).filter(({ uid }) => uid !== present);
  if (missing.length === 0) return undefined;
  const read = await deps.reader.read(resource, key, signal);
  if (read.kind === "Forbidden") return { requeueAfterMs: FORBIDDEN_MS };
  const existing = read.kind === "Found" ? read.object.metadata.uid : undefined;
  const gone = missing.filter(({ uid }) => uid !== existing);
  settleAll(deps, gone);
  return gone.length < missing.length ? { requeueAfterMs: NOT_LISTED_MS } : undefined;
}

/** Settles the entries of an object that is being deleted and follows no request any more. */
export function settleDeleted(
  deps: Omit<SettleDeps, "reader">,
  { resource, key }: ObjectKey,
  deleted: string | undefined,
): void {
  settleAll(
    deps,
    deps.journal.entriesOf({ kind: resource.kind, key }).filter(({ uid }) => uid === deleted),
  );
}

function settleAll({ journal, log }: Omit<SettleDeps, "reader">, entries: readonly JournalEntry[]): void {
  for (const entry of entries) {
    log.warn({ ...entry }, GONE_MESSAGE);
    journal.settle(entry.id);
  }
}

/** The entries that the previous leader left for objects that the lists do not show. Their reconciles judge them (`settleGone`). */
export function entriesWithoutObject(
  left: readonly JournalEntry[],
  objects: Iterable<KubeObject>,
): readonly JournalEntry[] {
  const uids = new Set([...objects].map(({ metadata }) => metadata.uid));
  return left.filter(({ uid }) => !uids.has(uid));
}
