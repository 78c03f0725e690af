import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { delay, systemClock } from "../../../base/clock.ts";
import { createLogger } from "../../../base/log.ts";
import { findObject, type KubeClient } from "../../../kube/client.ts";
import { isForbidden } from "../../../kube/errors.ts";
import { namespaceResource } from "../../../kube/resource.ts";
import { leaseNameOf, SHARD_INDEXES } from "../../../operator/shard.ts";
import { createLeaderElector } from "../../../runtime/leader.ts";
import { LEASE_MS, leaseResource } from "../../../runtime/lease.ts";

/** While it lasts, no operator works. */
export type Exclusion = {
  /** Aborts when an operator may work again. */
  signal: AbortSignal;
  end(): Promise<void>;
};

/** No lease is held, so none is given back. */
export const NO_LEASES: Exclusion = { signal: new AbortController().signal, end: async () => {} };

type Options = {
  /** The namespace of the leases. */
  namespace: string;
  /** Ends the wait for operators that work; `waited` says for how long that is. */
  timeout: AbortSignal;
  waited: string;
};

const LOOK_MS = 500;

/**
 * Waits until no operator works, and keeps it so. Without leader election, an operator has no lease and is not seen.
 * @throws Error when an operator still works at the end of `timeout`, or when the namespace is not there: with a wrong name, no operator
 * would be seen
 */
export async function excludeOperators(kube: KubeClient, options: Options): Promise<Exclusion> {
  const { namespace } = options;
  const state = await stateOf(kube, namespace);
  if (state === "Missing") {
    throw new Error(
      `namespace ${namespace} is not there: correct --leader-election-namespace or, if an operator was in it, run this again after kubectl create namespace ${namespace}`,
    );
  }
  if (state === "Terminating") {
    console.log(
      `namespace ${namespace} is being deleted: waiting ${LEASE_MS / 1000} s until no operator can have a lease in it`,
    );
    await waitWithoutLeases(kube, options);
    return NO_LEASES;
  }
  return holdLeases(kube, options);
}

/** In a namespace that is being deleted, and in one that is not there, nobody can make a lease. */
async function stateOf(kube: KubeClient, name: string): Promise<"Active" | "Terminating" | "Missing"> {
  try {
    const namespace = await findObject(kube, namespaceResource, { name });
    if (namespace === undefined) return "Missing";
    return namespace.metadata.deletionTimestamp === undefined ? "Active" : "Terminating";
  } catch (error) {
    // The cleanup Job of the chart may not read namespaces. Its own is there.
    if (isForbidden(error)) return "Active";
    throw error;
  }
}

/** An operator stops when it cannot renew its lease. So none works when there has been no lease for the duration of a lease. */
async function waitWithoutLeases(kube: KubeClient, { namespace, timeout, waited }: Options): Promise<void> {
  let since = performance.now();
  while (performance.now() < since + LEASE_MS) {
    const leases = await Promise.all(
      SHARD_INDEXES.map((index) => findObject(kube, leaseResource, { namespace, name: leaseNameOf(index) })),
    );
    const lease = leases.find((one) => one !== undefined);
    if (lease !== undefined) {
      since = performance.now();
      if (timeout.aborted) throw stillHeld(`${namespace}/${lease.metadata.name}`, waited, timeout.reason);
    }
    await delay(systemClock, LOOK_MS);
  }
}

/** Takes the leases of all shards. */
async function holdLeases(kube: KubeClient, { namespace, timeout, waited }: Options): Promise<Exclusion> {
  const electors = SHARD_INDEXES.map((index) => ({
    lease: `${namespace}/${leaseNameOf(index)}`,
    ...createLeaderElector({
      client: kube,
      namespace,
      name: leaseNameOf(index),
      identity: `cleanup_${hostname()}_${randomUUID()}`,
      clock: systemClock,
      log: createLogger({ logLevel: "warn", logFormat: "json" }),
    }),
  }));
  const end = async () => {
    await Promise.all(electors.map(({ release }) => release()));
  };
  const acquired = electors.map(({ lease, acquire }) =>
    acquire(timeout).catch((cause: unknown) => {
      throw stillHeld(lease, waited, cause);
    }),
  );
  await Promise.allSettled(acquired);
  await Promise.all(acquired).catch(async (error: unknown) => {
    await end();
    throw error;
  });
  return { signal: AbortSignal.any(electors.map(({ lost }) => lost)), end };
}

function stillHeld(lease: string, waited: string, cause: unknown): Error {
  const advice = "scale it to 0 (kubectl scale deployment --replicas=0) and run this again";
  return new Error(`an operator still holds the lease ${lease} after ${waited}: ${advice}`, { cause });
}
