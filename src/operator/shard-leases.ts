import type { Logger } from "pino";
import type { Clock } from "../base/clock.ts";
import { findObject, type KubeClient } from "../kube/client.ts";
import { isConflict } from "../kube/errors.ts";
import { LEASE_MS, type Lease, leaseResource } from "../runtime/lease.ts";
import { leaseNameOf, SHARD_INDEXES, type Shard } from "./shard.ts";

/** On each lease: the number of shards that its holder divides the accounts by. Without it: 1. */
export const SHARD_COUNT = "mooring.dev/shard-count";

export type ShardLeasesOptions = {
  client: Pick<KubeClient, "get" | "update">;
  namespace: string;
  shard: Shard;
  clock: Clock;
  log: Pick<Logger, "warn">;
};

/** The leases of the other shards of the installation. */
export type ShardLeases = {
  /**
   * Looks for processes that divide the accounts by another number of shards. Undefined: none can be active. Otherwise what keeps this
   * process from starting. A lease of another number that has expired is ended: its holder, if it wakes up, has lost it.
   *
   * Call it while this process holds its own lease. Everybody takes a lease first and looks second, so that of two processes with
   * different numbers at least one finds the other.
   */
  findConflict(signal: AbortSignal): Promise<string | undefined>;
};

export function createShardLeases(options: ShardLeasesOptions): ShardLeases {
  const { client, namespace, shard, clock, log } = options;
  /** When this process first saw the version of a lease, monotonic ms. */
  const seen = new Map<string, { version: string | undefined; at: number }>();

  async function conflictAt(name: string, signal: AbortSignal): Promise<string | undefined> {
    const place = { namespace, name };
    const lease = await findObject<Lease>(client, leaseResource, place, { signal });
    const holder = lease?.spec.holderIdentity ?? "";
    const count = lease?.metadata.annotations?.[SHARD_COUNT] ?? "1";
    if (lease === undefined || holder === "" || count === String(shard.count)) return undefined;

    const { resourceVersion: version } = lease.metadata;
    if (seen.get(name)?.version !== version) seen.set(name, { version, at: clock.monotonic() });
    const conflict = `lease ${namespace}/${name} is held by ${holder}, which divides the accounts by ${count}`;
    if (clock.monotonic() < (seen.get(name)?.at ?? 0) + LEASE_MS) return conflict;
    try {
      await client.update<Lease>(
        leaseResource,
        place,
        { ...lease, spec: { ...lease.spec, holderIdentity: "" } },
        { signal },
      );
    } catch (error) {
      if (isConflict(error)) return conflict;
      throw error;
    }
    log.warn(
      { lease: `${namespace}/${name}`, holder, shards: count },
      "ended the expired lease of another number of shards",
    );
    return undefined;
  }

  return {
    async findConflict(signal) {
      const others = SHARD_INDEXES.filter((index) => index !== shard.index);
      const conflicts = await Promise.all(others.map((index) => conflictAt(leaseNameOf(index), signal)));
      return conflicts.find((conflict) => conflict !== undefined);
    },
  };
}
