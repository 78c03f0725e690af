import { type Clock, stopwatch } from "../base/clock.ts";
import { findObject, type KubeClient } from "../kube/client.ts";
import { isAlreadyExists, isConflict, isNotFound } from "../kube/errors.ts";
import type { Resource } from "../kube/resource.ts";
import type { KubeObject } from "../kube/types.ts";

export const leaseResource: Resource = {
  group: "coordination.k8s.io",
  version: "v1",
  plural: "leases",
  kind: "Lease",
  namespaced: true,
};

type LeaseSpec = {
  holderIdentity?: string;
  leaseDurationSeconds?: number;
  acquireTime?: string;
  renewTime?: string;
};
export type Lease = KubeObject<LeaseSpec>;

/** A lease that nobody renewed for this long may be ended. */
export const LEASE_MS = 15_000;
/** The holder sends nothing when its last renewal is older. */
export const SURELY_HELD_MS = 10_000;

/** Marks the leases of operators. */
export const LEASE_LABELS = {
  "app.kubernetes.io/managed-by": "mooring",
  "app.kubernetes.io/component": "operator",
} as const;
export const LEASE_SELECTOR = Object.entries(LEASE_LABELS)
  .map(([name, value]) => `${name}=${value}`)
  .join(",");
/** On the lease of a process that has read all objects and may take accounts. */
const READY = "mooring.dev/ready";
/** On the lease of a process that keeps all others from taking accounts. */
const EXCLUDES = "mooring.dev/excludes";

export const isHeld = ({ spec }: Lease): boolean => (spec.holderIdentity ?? "") !== "";
export const isReady = ({ metadata }: Lease): boolean => metadata.annotations?.[READY] === "true";
export const isExcluding = ({ metadata }: Lease): boolean => metadata.annotations?.[EXCLUDES] === "true";

/** The lease of this process, which has its name. No other process ever takes it: it can only be ended. */
export type OwnLease = {
  /** Makes or renews the lease. False: it was ended or deleted, so others may have what this process served. @throws KubeError */
  renew(signal: AbortSignal): Promise<boolean>;
  /** Empties the holder: others need not wait until the lease expires. */
  end(signal: AbortSignal): Promise<void>;
  /** Shown from the next renewal on. */
  setReady(ready: boolean): void;
  /** Ms since the begin of the last renewal that the API server confirmed, by the monotonic and the wall clock. */
  sinceRenewal(): number;
};

type OwnLeaseOptions = {
  client: KubeClient;
  place: { namespace: string; name: string };
  excludes: boolean;
  clock: Clock;
};

export function createOwnLease({ client, place, excludes, clock }: OwnLeaseOptions): OwnLease {
  let lease: Lease | undefined;
  const excluding = excludes ? { [EXCLUDES]: "true" } : {};
  let ready = false;
  let sinceRenewal: () => number = () => Number.POSITIVE_INFINITY;

  function next(previous: Lease | undefined): Lease {
    const now = new Date(clock.now()).toISOString().replace("Z", "000Z");
    const annotations = { ...previous?.metadata.annotations, [READY]: String(ready), ...excluding };
    return {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { ...(previous?.metadata ?? { ...place, labels: { ...LEASE_LABELS } }), annotations },
      spec: {
        holderIdentity: place.name,
        leaseDurationSeconds: LEASE_MS / 1000,
        acquireTime: previous?.spec.acquireTime ?? now,
        renewTime: now,
      },
    };
  }

  async function write(signal: AbortSignal): Promise<void> {
    const since = stopwatch(clock); // from before the request: never longer than what the server granted
    lease =
      lease === undefined
        ? await client.create<Lease>(leaseResource, { namespace: place.namespace }, next(undefined), { signal })
        : await client.update<Lease>(leaseResource, place, next(lease), { signal });
    sinceRenewal = since;
  }

  /** Whether the lease is still that of this process, although a write of another version of it failed. */
  async function readAgain(signal: AbortSignal): Promise<boolean> {
    const found = await findObject<Lease>(client, leaseResource, place, { signal });
    const isOurs = found !== undefined && isHeld(found) && (lease === undefined || isSame(found, lease));
    if (isOurs) lease = found;
    return isOurs;
  }

  return {
    async renew(signal) {
      try {
        await write(signal);
        return true;
      } catch (error) {
        if (isNotFound(error) && lease !== undefined) return false;
        // A write whose response was lost, or somebody else's change of an annotation.
        if (!isConflict(error) && !isAlreadyExists(error)) throw error;
      }
      if (!(await readAgain(signal))) return false;
      await write(signal);
      return true;
    },
    async end(signal) {
      const found = await findObject<Lease>(client, leaseResource, place, { signal });
      if (found === undefined || !isHeld(found) || (lease !== undefined && !isSame(found, lease))) return;
      await client.update<Lease>(leaseResource, place, ended(found), { signal });
    },
    setReady(next) {
      ready = next;
    },
    sinceRenewal: () => sinceRenewal(),
  };
}

const isSame = (a: Lease, b: Lease): boolean => a.metadata.uid === b.metadata.uid;

/** The lease without a holder. Written with its version, this proves that its process renewed it last before. */
export function ended(lease: Lease): Lease {
  const identity = { apiVersion: "coordination.k8s.io/v1", kind: "Lease" };
  return { ...lease, ...identity, spec: { ...lease.spec, holderIdentity: "" } };
}
