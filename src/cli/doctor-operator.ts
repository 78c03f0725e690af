import type { Account, ClusterAccount } from "../api/v1alpha1/account.ts";
import { accountResource, clusterAccountResource } from "../api/v1alpha1/kinds.ts";
import { type Clock, rfc3339 } from "../clock.ts";
import type { KubeClient } from "../kube/client.ts";
import { isForbidden, isNotFound } from "../kube/errors.ts";
import type { Resource } from "../kube/resource.ts";
import type { KubeObject } from "../kube/types.ts";
import { leaseNameOf } from "../operator/shard.ts";
import { leaseResource } from "../runtime/leader.ts";
import type { Finding } from "./doctor-checks.ts";

/**
 * An operator renews its lease every few seconds, and the claim of an account every 20 s. A claim is valid for 90 s; the clocks
 * of two machines differ a little.
 */
const ALIVE_MS = 2 * 60_000;

type Lease = KubeObject<{ renewTime?: string }>;

/** A time at which an operator was alive, ms since the epoch, and its namespace. */
type SignOfLife = { at: number; namespace: string };

/** Whether an operator runs, by its lease and by the claims of the accounts. Without the right to read them, nobody knows. */
export async function checkOperator(
  kube: Pick<KubeClient, "list">,
  clock: Clock,
  namespace: string | undefined,
): Promise<Finding> {
  const claims = ({ status }: Account | ClusterAccount) =>
    status?.claim && { at: Date.parse(status.claim.renewTime), namespace: status.claim.installation };
  const leases = { query: { fieldSelector: `metadata.name=${leaseNameOf(0)}` } };
  const signs = await Promise.all([
    signsOf<Lease>(kube, { resource: leaseResource, options: leases }, ({ metadata, spec }) =>
      spec.renewTime === undefined
        ? undefined
        : { at: Date.parse(spec.renewTime), namespace: metadata.namespace ?? "default" },
    ),
    signsOf<Account>(kube, { resource: accountResource, namespace }, claims),
    signsOf<ClusterAccount>(kube, { resource: clusterAccountResource }, claims),
  ]);
  const [last] = signs.flat().sort((a, b) => b.at - a.at);
  if (last !== undefined && clock.now() - last.at < ALIVE_MS) {
    return { level: "ok", message: `an operator runs, in namespace ${last.namespace}` };
  }
  if (last !== undefined) {
    const since = rfc3339(last.at);
    const command = `kubectl get pods -n ${last.namespace}`;
    return { level: "bad", message: `no operator runs since ${since}: nothing is reconciled. Look at: ${command}` };
  }
  return {
    level: "warn",
    message: "no operator has been seen: nothing is reconciled before one runs (docs/install.md)",
  };
}

async function signsOf<T extends KubeObject>(
  kube: Pick<KubeClient, "list">,
  {
    resource,
    namespace,
    options,
  }: { resource: Resource; namespace?: string | undefined; options?: { query: Record<string, string> } },
  sign: (object: T) => SignOfLife | undefined,
): Promise<SignOfLife[]> {
  try {
    const { items } = await kube.list<T>(resource, { namespace }, options);
    return items.flatMap((object) => sign(object) ?? []).filter(({ at }) => !Number.isNaN(at));
  } catch (error) {
    if (isForbidden(error) || isNotFound(error)) return [];
    throw error;
  }
}
