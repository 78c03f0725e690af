import type { Logger } from "pino";
import type { KubeObject } from "../kube/types.ts";
import type { Journal, JournalEntry } from "./journal.ts";

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
