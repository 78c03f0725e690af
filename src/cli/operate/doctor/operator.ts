import { type Clock, rfc3339 } from "../../../base/clock.ts";
import { messageOf } from "../../../controllers/verdict.ts";
import type { KubeClient } from "../../../kube/client.ts";
import { leaseNameOf, SHARD_INDEXES } from "../../../operator/shard.ts";
import { type Lease, leaseResource } from "../../../runtime/lease.ts";
import type { Finding } from "./checks.ts";
import { findLeaderless, type ShardLease, shardCountOf, shardLeaseFrom } from "./shards.ts";

/** An operator renews its lease every few seconds. The clocks of two machines differ a little. */
const ALIVE_MS = 2 * 60_000;

/** Whether an operator runs, by the leases of its shards, and which shards have no leader. Without the right to read them, nobody knows. */
export async function checkOperator(kube: Pick<KubeClient, "list">, clock: Clock): Promise<Finding[]> {
  try {
    return judge(await shardLeases(kube), clock.now());
  } catch (error) {
    return [{ level: "warn", message: `whether an operator runs is unknown: ${messageOf(error)}` }];
  }
}

function judge(leases: readonly ShardLease[], now: number): Finding[] {
  const isAlive = (at: number) => now - at < ALIVE_MS;
  const [last] = [...leases].sort((a, b) => b.renewedAt - a.renewedAt);
  if (last === undefined) {
    const message =
      "no operator has been seen: nothing is reconciled before one runs (docs/how-to/install.md). One without --leader-elect has no lease, and is not seen";
    return [{ level: "warn", message }];
  }
  if (!isAlive(last.renewedAt)) {
    const since = rfc3339(last.renewedAt);
    const command = `kubectl get pods -n ${last.namespace}`;
    return [{ level: "bad", message: `no operator runs since ${since}: nothing is reconciled. Look at: ${command}` }];
  }

  const alive = leases.filter(({ renewedAt }) => isAlive(renewedAt));
  const installations = [...new Set(alive.map((lease) => lease.namespace))].sort();
  return installations.flatMap((name) => {
    const isHere = (lease: ShardLease) => lease.namespace === name;
    const count = shardCountOf(alive.filter(isHere));
    const leaderless = findLeaderless(leases.filter(isHere), alive.filter(isHere), { namespace: name, count });
    return leaderless.length > 0 ? leaderless : [runs(name, count)];
  });
}

function runs(namespace: string, shards: number): Finding {
  const leaders = shards === 1 ? "" : `; each of its ${shards} shards has a leader`;
  return { level: "ok", message: `an operator runs, in namespace ${namespace}${leaders}` };
}

/** The leases of every shard that an installation can have, in all namespaces. */
async function shardLeases(kube: Pick<KubeClient, "list">): Promise<ShardLease[]> {
  const found = await Promise.all(
    SHARD_INDEXES.map(async (index) => {
      const query = { fieldSelector: `metadata.name=${leaseNameOf(index)}` };
      const { items } = await kube.list<Lease>(leaseResource, {}, { query });
      return items.flatMap((lease) => shardLeaseFrom(lease, index) ?? []);
    }),
  );
  return found.flat();
}
