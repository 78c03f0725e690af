import { delay, withDeadline } from "../base/clock.ts";
import {
  createLeaderElector,
  type LeaderElector,
  type LeaderElectorOptions,
  type LeaseElector,
} from "../runtime/leader.ts";
import { leaseNameOf, type Shard } from "./shard.ts";
import { createShardLeases, SHARD_COUNT } from "./shard-leases.ts";

export type ShardElectorOptions = Omit<LeaderElectorOptions, "name" | "annotations"> & {
  shard: Shard;
  random: () => number;
};

const RETRY_MS = 2_000;
const LOOK_MS = 5_000;
/** The log repeats why the process waits. */
const REPEAT_MS = 60_000;

/**
 * Elects one leader per shard, and never lets two processes lead that divide the accounts by different numbers of shards: `acquire`
 * takes the lease of the shard, looks at all other leases, and gives the lease back while one of them is in use with another number.
 */
export function createShardElector(options: ShardElectorOptions): LeaderElector {
  const { clock, log, random, shard } = options;
  const leases = createShardLeases(options);
  const lost = new AbortController();
  let held: LeaseElector | undefined;
  let admitted = false;

  function nextLease(): LeaseElector {
    return createLeaderElector({
      ...options,
      name: leaseNameOf(shard.index),
      annotations: { [SHARD_COUNT]: String(shard.count) },
      onLeading: (leading) => {
        if (admitted || !leading) options.onLeading?.(leading);
      },
    });
  }

  async function findConflict(lease: LeaseElector): Promise<string | undefined> {
    try {
      const conflict = await withDeadline(clock, LOOK_MS, (signal) =>
        leases.findConflict(AbortSignal.any([signal, lease.lost])),
      );
      return lease.surelyHeld() ? conflict : "the lease was lost meanwhile";
    } catch (error) {
      return `the leases of the other shards cannot be read: ${String(error)}`;
    }
  }

  return {
    lost: lost.signal,
    surelyHeld: () => admitted && held?.surelyHeld() === true,
    held: () => held?.held(),
    async acquire(signal) {
      let toldAt = Number.NEGATIVE_INFINITY;
      for (;;) {
        const lease = nextLease();
        held = lease;
        await lease.acquire(signal);
        const conflict = await findConflict(lease);
        if (conflict === undefined) {
          admitted = true;
          lease.lost.addEventListener("abort", () => lost.abort(lease.lost.reason), { once: true });
          if (lease.lost.aborted) lost.abort(lease.lost.reason);
          else options.onLeading?.(true);
          return;
        }
        await lease.release();
        if (clock.monotonic() >= toldAt + REPEAT_MS) {
          toldAt = clock.monotonic();
          const own = `${shard.index}/${shard.count}`;
          log.warn(
            { shard: own, conflict },
            "waiting: the accounts are not divided twice; stop the processes with another --shard count",
          );
        }
        await delay(clock, RETRY_MS * (1 + random()), signal);
        signal.throwIfAborted();
      }
    },
    async release() {
      await held?.release();
    },
  };
}
