import type { Account, ClusterAccount } from "../../../api/v1alpha1/account.ts";
import { accountResource, clusterAccountResource } from "../../../api/v1alpha1/kinds.ts";
import { type Clock, rfc3339 } from "../../../base/clock.ts";
import { messageOf } from "../../../controllers/verdict.ts";
import type { KubeClient } from "../../../kube/client.ts";
import { isForbidden, isNotFound } from "../../../kube/errors.ts";
import type { Resource } from "../../../kube/resource.ts";
import type { KubeObject } from "../../../kube/types.ts";
import { leaseNameOf, SHARD_INDEXES } from "../../../operator/shard.ts";
import { type Lease, leaseResource } from "../../../runtime/lease.ts";
import type { Finding } from "./checks.ts";
import { findLeaderless, type ShardLease, shardCountOf, shardLeaseFrom } from "./shards.ts";

/**
 * An operator renews its lease every few seconds, and the claim of an account every 20 s. A claim is valid for 90 s; the clocks
 * of two machines differ a little.
 */
const ALIVE_MS = 2 * 60_000;

/** A time at which an operator was alive, ms since the epoch, and its namespace. */
type SignOfLife = { at: number; namespace: string };

/**
 * Whether an operator runs, by the leases of its shards and by the claims of the accounts, and which shards have no leader. Without the
 * right to read them, nobody knows.
 */
export async function checkOperator(
  kube: Pick<KubeClient, "list">,
  clock: Clock,
  namespace: string | undefined,
): Promise<Finding[]> {
  try {
    const [leases, ...claims] = await Promise.all([
      shardLeases(kube),
      collect<Account, SignOfLife>(kube, { resource: accountResource, namespace }, claimOf),
      collect<ClusterAccount, SignOfLife>(kube, { resource: clusterAccountResource }, claimOf),
    ]);
    return judge(leases, claims.flat(), clock.now());
  } catch (error) {
    return [{ level: "warn", message: `whether an operator runs is unknown: ${messageOf(error)}` }];
  }
}

function judge(leases: readonly ShardLease[], claims: readonly SignOfLife[], now: number): Finding[] {
  const isAlive = (at: number) => now - at < ALIVE_MS;
  const renewals = leases.map((lease) => ({ at: lease.renewedAt, namespace: lease.namespace }));
  const [last] = [...renewals, ...claims].sort((a, b) => b.at - a.at);
  if (last === undefined) {
    const message = "no operator has been seen: nothing is reconciled before one runs (docs/install.md)";
    return [{ level: "warn", message }];
  }
  if (!isAlive(last.at)) {
    const since = rfc3339(last.at);
    const command = `kubectl get pods -n ${last.namespace}`;
    return [{ level: "bad", message: `no operator runs since ${since}: nothing is reconciled. Look at: ${command}` }];
  }

  const alive = leases.filter(({ renewedAt }) => isAlive(renewedAt));
  const installations = [...new Set(alive.map((lease) => lease.namespace))].sort();
  if (installations.length === 0) return [runs(last.namespace, 1)];
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

function claimOf({ status }: Account | ClusterAccount): SignOfLife | undefined {
  const at = Date.parse(status?.claim?.renewTime ?? "");
  return Number.isNaN(at) ? undefined : { at, namespace: status?.claim?.installation ?? "" };
}

/** The leases of every shard that an installation can have, in all namespaces. */
async function shardLeases(kube: Pick<KubeClient, "list">): Promise<ShardLease[]> {
  const found = await Promise.all(
    SHARD_INDEXES.map((index) => {
      const options = { query: { fieldSelector: `metadata.name=${leaseNameOf(index)}` } };
      return collect<Lease, ShardLease>(kube, { resource: leaseResource, options }, (lease) =>
        shardLeaseFrom(lease, index),
      );
    }),
  );
  return found.flat();
}

type ListRequest = {
  resource: Resource;
  namespace?: string | undefined;
  options?: { query: Record<string, string> };
};

/** What `read` finds in the objects of a list. Empty when we may not list them, or when their kind is not installed. */
async function collect<T extends KubeObject, R>(
  kube: Pick<KubeClient, "list">,
  { resource, namespace, options }: ListRequest,
  read: (object: T) => R | undefined,
): Promise<R[]> {
  try {
    const { items } = await kube.list<T>(resource, { namespace }, options);
    return items.flatMap((object) => read(object) ?? []);
  } catch (error) {
    if (isForbidden(error) || isNotFound(error)) return [];
    throw error;
  }
}
