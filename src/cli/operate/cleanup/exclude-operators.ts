import { randomUUID } from "node:crypto";
import { aborted, delay, systemClock } from "../../../base/clock.ts";
import { createLogger } from "../../../base/log.ts";
import { findObject, type KubeClient } from "../../../kube/client.ts";
import { isForbidden } from "../../../kube/errors.ts";
import { namespaceResource } from "../../../kube/resource.ts";
import { LEASE_MS, LEASE_SELECTOR, type Lease, leaseResource } from "../../../runtime/lease.ts";
import { createMembers } from "../../../runtime/members.ts";

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
 * Waits until no operator works, and keeps it so: while this process has a Lease, no other one takes an account.
 * @throws Error when an operator still works at the end of `timeout`, or when the namespace is not there: with a wrong name, no operator
 * would be seen
 */
export async function excludeOperators(kube: KubeClient, options: Options): Promise<Exclusion> {
  const { namespace } = options;
  const state = await stateOf(kube, namespace);
  if (state === "Missing") {
    throw new Error(
      `namespace ${namespace} is not there: correct --operator-namespace or, if an operator was in it, run this again after kubectl create namespace ${namespace}`,
    );
  }
  if (state === "Terminating") {
    console.log(
      `namespace ${namespace} is being deleted: waiting ${LEASE_MS / 1000} s until no operator can have a lease in it`,
    );
    await waitWithoutLeases(kube, options);
    return NO_LEASES;
  }
  return joinAlone(kube, options);
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
    const { items } = await kube.list<Lease>(
      leaseResource,
      { namespace },
      { query: { labelSelector: LEASE_SELECTOR } },
    );
    const [lease] = items;
    if (lease !== undefined) {
      since = performance.now();
      if (timeout.aborted) throw stillHeld(`${namespace}/${lease.metadata.name}`, waited, timeout.reason);
    }
    await delay(systemClock, LOOK_MS);
  }
}

/** Joins the installation, so that nobody takes an account, and waits until all others have left. */
async function joinAlone(kube: KubeClient, { namespace, timeout, waited }: Options): Promise<Exclusion> {
  const members = createMembers({
    client: kube,
    namespace,
    name: `cleanup-${randomUUID()}`,
    excludes: true,
    clock: systemClock,
    log: createLogger({ logLevel: "error", logFormat: "json" }),
  });
  await members.join(timeout);
  for (;;) {
    const other = members.list().find(({ name }) => name !== members.name);
    if (other === undefined) return { signal: members.lost, end: members.leave };
    if (timeout.aborted) {
      await members.leave();
      throw stillHeld(`${namespace}/${other.name}`, waited, timeout.reason);
    }
    await Promise.race([delay(systemClock, LOOK_MS), aborted(timeout)]);
  }
}

function stillHeld(lease: string, waited: string, cause: unknown): Error {
  const advice = "scale it to 0 (kubectl scale deployment --replicas=0) and run this again";
  return new Error(`an operator still holds the lease ${lease} after ${waited}: ${advice}`, { cause });
}
