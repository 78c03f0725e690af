import type { Logger } from "pino";
import { type Clock, delay } from "../base/clock.ts";
import { findObject, type KubeClient } from "../kube/client.ts";
import type { LeaderElector } from "../runtime/leader.ts";
import { type Lease, leaseResource } from "../runtime/lease.ts";
import { configMapResource, type Journal } from "../submission/journal.ts";
import { configMapOf } from "../submission/journal-shards.ts";
import { createJournal, type JournalOptions } from "../submission/sharded-journal.ts";
import { divideJournals, hasMoved, withEarlier } from "./journal-division.ts";
import { journalNameOf, leaseNameOf, SHARD_INDEXES, type Shard } from "./shard.ts";
import { createShardElector } from "./shard-elector.ts";
import { type Division, divisionIn } from "./shard-leases.ts";

export type ShardingOptions = Omit<JournalOptions, "name"> & {
  client: KubeClient;
  clock: Clock;
  log: Logger;
  shard: Shard;
  /** Whether this process works only while it holds the lease of its shard. */
  leaderElect: boolean;
  onLeading: (leading: boolean) => void;
};

/** What makes a process one of several that share the accounts. */
export type Sharding = {
  /** Undefined: this process is the only one. */
  elector: LeaderElector | undefined;
  /** The journal of the shard. `open` first waits until the journals are divided by the number of shards; shard 0 divides them. */
  journal: Journal;
};

const RETRY_MS = 2_000;
const UNDIVIDED: Division = { shards: 1, most: 1, ids: [] };

export function createSharding(options: ShardingOptions): Sharding {
  const { client, namespace, shard, clock, log } = options;
  let division = UNDIVIDED;
  const elector = options.leaderElect ? createShardElector(options) : undefined;
  const journal = createJournal({ ...options, name: journalNameOf(shard.index) });

  const isMoved = (uid: string, id: string | undefined): boolean =>
    id !== undefined && hasMoved(division, shard.index, { own: journal.shards(), id, number: configMapOf(uid) });

  async function readDivision(signal: AbortSignal): Promise<Division> {
    const place = { namespace, name: leaseNameOf(0) };
    const lease = await findObject<Lease>(client, leaseResource, place, { signal });
    return divisionIn(lease?.metadata.annotations) ?? (await findUnrecorded(signal));
  }

  /** Without a record (the lease is new, or was deleted), the journals themselves show whether they were divided. */
  async function findUnrecorded(signal: AbortSignal): Promise<Division> {
    const found = await Promise.all(
      SHARD_INDEXES.map((index) =>
        findObject(client, configMapResource, { namespace, name: journalNameOf(index) }, { signal }),
      ),
    );
    const most = found.findLastIndex((one) => one !== undefined) + 1;
    return most <= 1 ? UNDIVIDED : { shards: 0, most, ids: [] };
  }

  /** Resolves when the journals are divided by the number of shards. */
  async function ensureDivided(signal: AbortSignal): Promise<Division> {
    const found = await readDivision(signal);
    if (found.shards === shard.count) return found;
    if (elector === undefined) {
      throw new Error(
        `the journals in namespace ${namespace} are divided by ${found.shards || "an unfinished number of"} shards, and this operator has --shard 0/1: start it with --leader-elect, which puts them together`,
      );
    }
    if (shard.index === 0) {
      return divideJournals(
        { createJournal: journalOfDivision, write: elector.writeDivision, log },
        found,
        shard.count,
        signal,
      );
    }
    log.info({ shards: shard.count, found: found.shards }, "waiting until shard 0 has divided the journals");
    for (;;) {
      await delay(clock, RETRY_MS, signal);
      signal.throwIfAborted();
      const now = await readDivision(signal);
      if (now.shards === shard.count) return now;
    }
  }

  function journalOfDivision(name: string): Journal {
    const { onFenced: _, onCommit: __, ...others } = options;
    return createJournal({ ...others, name });
  }

  return {
    elector,
    journal: {
      ...journal,
      async open(signal) {
        division = await ensureDivided(signal);
        return journal.open(signal);
      },
      shards() {
        const [head, ...others] = journal.shards();
        const [first = head, ...rest] = withEarlier(division, shard.index, [head, ...others]);
        return [first, ...rest];
      },
      covers: (uid, id) => journal.covers(uid, id) || isMoved(uid, id),
      // An intent that was not sent before its entry could be moved is committed here.
      commit: (intent, signal, id) => journal.commit(intent, signal, isMoved(intent.uid, id) ? undefined : id),
    },
  };
}
