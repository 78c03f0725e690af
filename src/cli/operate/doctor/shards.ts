import { rfc3339 } from "../../../base/clock.ts";
import { leaseNameOf, SHARD_INDEXES } from "../../../operator/shard.ts";
import { SHARD_COUNT } from "../../../operator/shard-leases.ts";
import type { Lease } from "../../../runtime/lease.ts";
import type { Finding } from "./checks.ts";

/** The lease of a shard in one namespace. Times are ms since the epoch. */
export type ShardLease = {
  index: number;
  namespace: string;
  /** The number of shards of the process that took the lease last. 1 if the lease shows a number that no operator writes. */
  count: number;
  renewedAt: number;
  /** Undefined: nobody holds the lease. */
  heldSince: number | undefined;
};

/** Undefined: the lease was never renewed. */
export function shardLeaseFrom({ metadata, spec }: Lease, index: number): ShardLease | undefined {
  const renewedAt = Date.parse(spec.renewTime ?? "");
  if (Number.isNaN(renewedAt)) return undefined;
  const count = Number(metadata.annotations?.[SHARD_COUNT] ?? 1);
  return {
    index,
    namespace: metadata.namespace ?? "default",
    count: SHARD_INDEXES.includes(count - 1) ? count : 1,
    renewedAt,
    heldSince: (spec.holderIdentity ?? "") === "" ? undefined : Date.parse(spec.acquireTime ?? ""),
  };
}

/**
 * The number of shards of an installation: that of the leader which has held its lease longest. While processes with different numbers
 * of shards run, those of one number lead, and the others take and release their leases again and again.
 *
 * @param alive the leases of the installation that were renewed a moment ago, at least one
 */
export function shardCountOf(alive: readonly ShardLease[]): number {
  const since = ({ heldSince }: ShardLease) => heldSince ?? Number.POSITIVE_INFINITY;
  const [longest] = [...alive].sort((a, b) => since(a) - since(b) || b.renewedAt - a.renewedAt);
  return longest?.count ?? 1;
}

/** A finding for each shard of `count` that has no leader. `leases`: all of the installation; `alive`: those that were renewed a moment ago. */
export function findLeaderless(
  leases: readonly ShardLease[],
  alive: readonly ShardLease[],
  { namespace, count }: { namespace: string; count: number },
): Finding[] {
  const led = new Set(alive.filter((lease) => lease.count === count).map(({ index }) => index));
  return SHARD_INDEXES.filter((index) => index < count && !led.has(index)).map((index) => {
    const lease = leases.find((one) => one.index === index);
    const state = stateOf(lease, lease !== undefined && alive.includes(lease));
    const command = `kubectl get pods -n ${namespace} -l mooring.dev/shard=${index}`;
    const message = `shard ${index} of ${count} has no leader (its lease ${leaseNameOf(index)} ${state}): objects of its accounts are not reconciled. Look at: ${command}`;
    return { level: "bad", message };
  });
}

function stateOf(lease: ShardLease | undefined, isAlive: boolean): string {
  if (lease === undefined) return "does not exist";
  if (isAlive) return `is used by a process with another number of shards: ${lease.count}`;
  return `was last renewed at ${rfc3339(lease.renewedAt)}`;
}
