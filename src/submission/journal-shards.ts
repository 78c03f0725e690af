import { hash } from "node:crypto";

/**
 * How many ConfigMaps the journal has. It cannot change: the status of an object shows the ID of the ConfigMap that its UID
 * belongs to.
 */
export const JOURNAL_SHARDS = 16;

/** The number of the ConfigMap that has the requests of an object, from 0. */
export function configMapOf(uid: string): number {
  return hash("sha256", uid, "buffer").readUInt32BE() % JOURNAL_SHARDS;
}

/** The ConfigMaps of a journal, in the order of their numbers. The first one, the head, has the journal's own name. */
export function journalNames(name: string): [head: string, ...others: string[]] {
  const others = Array.from({ length: JOURNAL_SHARDS - 1 }, (_, index) => `${name}-${index + 1}`);
  return [name, ...others];
}
