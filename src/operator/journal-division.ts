import type { Logger } from "pino";
import { type AccountKey, accountKey } from "../controllers/account/registry.ts";
import { splitKey } from "../kube/types.ts";
import type { Journal, JournalEntry, ShardIdentity } from "../submission/journal.ts";
import { journalNameOf, shardOf } from "./shard.ts";
import type { Division } from "./shard-leases.ts";

export type JournalDivisionOptions = {
  /** A journal for the time of the division: it is opened, changed and closed. */
  createJournal: (name: string) => Pick<Journal, "open" | "shards" | "adopt" | "settle" | "close" | "find">;
  /** Shows how far the division is. It is in etcd when it resolves. */
  write: (division: Division) => Promise<void>;
  log: Pick<Logger, "info">;
};

/**
 * Moves each entry of the journals to the journal of its account's shard.
 *
 * # Guarantees
 * - An entry is in etcd in its new journal before it leaves its old one. After a crash at any step, the next process divides again.
 * - While the division is under way, its record shows 0 shards, so that no shard starts, whatever its number of shards is.
 * - Every journal is opened: a process that had one before can commit nothing any more.
 *
 * # Assumptions
 * - The caller holds the lease of shard 0, and no process with another number of shards is active.
 */
export async function divideJournals(
  { createJournal, write, log }: JournalDivisionOptions,
  previous: Division,
  count: number,
  signal: AbortSignal,
): Promise<Division> {
  const most = Math.max(previous.most, count);
  await write({ ...previous, most, shards: 0 });
  const indexes = Array.from({ length: most }, (_, index) => index);
  const openAll = () =>
    allEnded(
      indexes.map(async (index) => {
        const name = journalNameOf(index);
        const journal = createJournal(name);
        return { index, name, journal, entries: await journal.open(signal) };
      }),
    );
  const closeAll = (opened: Awaited<ReturnType<typeof openAll>>) =>
    allEnded(opened.map(({ journal }) => journal.close(signal)));

  const before = await openAll();
  let moved = 0;
  for (const { index, name, entries } of before) {
    for (const entry of entries) {
      const target = shardOf(accountOf(entry, name), count);
      if (target === index || before[target]?.journal.find(entry.uid)?.id === entry.id) continue;
      before[target]?.journal.adopt(entry);
      moved++;
    }
  }
  await closeAll(before);

  const after = await openAll();
  for (const { index, name, journal, entries } of after) {
    for (const entry of entries) if (shardOf(accountOf(entry, name), count) !== index) journal.settle(entry.id);
  }
  await closeAll(after);

  const ids = after.map(({ journal }) => journal.shards().map(({ id }) => id));
  const division = { shards: count, most, ids };
  await write(division);
  log.info({ from: previous.shards, to: count, journals: most, moved }, "journals divided");
  return division;
}

/** Rejects when every promise has ended, so that nothing is written after a division that failed. */
async function allEnded<T>(promises: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(promises);
  return Promise.all(promises);
}

/** @throws Error for an entry of an earlier version, which does not name its account */
function accountOf({ account, kind, key, operation }: JournalEntry, journal: string): AccountKey {
  const { namespace } = splitKey(key);
  if (account !== undefined) return accountKey(account.kind, account.name, namespace);
  throw new Error(
    `journal ${journal}: the entry of ${kind} ${key} (${operation}) does not name its account, so the number of shards cannot be changed: start one operator with --shard 0/1, and wait until the object is finished or deleted`,
  );
}

/**
 * The ConfigMaps of journal number `index`, each with the IDs of those whose entries were moved to it at the division. A ConfigMap that is no
 * longer the one of the division has none: what was moved to it is lost with it.
 */
export function withEarlier({ ids }: Division, index: number, configMaps: readonly ShardIdentity[]): ShardIdentity[] {
  const others = ids.filter((_, other) => other !== index);
  return configMaps.map((configMap, number) => {
    if (ids[index]?.[number] !== configMap.id) return configMap;
    return { ...configMap, earlier: others.flatMap((journal) => journal[number] ?? []) };
  });
}

/**
 * Whether a request that the status of an object shows with the ID of a ConfigMap was moved to the journal number `index`, if it was sent. It
 * was in the head of its journal or in the ConfigMap with the object's number, and it was moved to the ConfigMap with the object's number.
 */
export function hasMoved({ ids }: Division, index: number, { own, id, number }: MovedRequest): boolean {
  if (ids[index]?.[number] !== own[number]?.id) return false;
  return ids.some((journal, other) => other !== index && (journal[0] === id || journal[number] === id));
}

/** `own`: the ConfigMaps of the journal. `number`: that of the object. */
type MovedRequest = { own: readonly ShardIdentity[]; id: string; number: number };
