import { type Clock, stopwatch } from "../base/clock.ts";
import { findObject, type KubeClient } from "../kube/client.ts";
import { isConflict, isNotFound } from "../kube/errors.ts";
import type { Resource } from "../kube/resource.ts";
import type { KubeObject, ObjectMeta } from "../kube/types.ts";

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
  leaseTransitions?: number;
};
export type Lease = KubeObject<LeaseSpec>;

/** client-go's defaults: others may take the lease after this long without a renewal. */
export const LEASE_MS = 15_000;

/** The lease as one process reads and writes it. */
export type OwnLease = {
  /** Takes or renews the lease. False: another process holds it, or has ended that this one holds it. @throws KubeError */
  take(wasHeld: () => boolean, signal: AbortSignal): Promise<boolean>;
  /** Gives the lease up, if it is ours. `again`: reads it first, because a renewal can have been written without a response. */
  giveUp(again: boolean, signal: AbortSignal): Promise<void>;
  /** What the lease says, as this process read or wrote it last. */
  holder(): string | undefined;
  annotations(): Readonly<Record<string, string>>;
  uid(): string | undefined;
  /** Written from the next renewal on. */
  annotate(added: Readonly<Record<string, string>>): void;
  /** Whether another process holds the lease, or has ended it. */
  isForeign(): boolean;
  /** A write can have taken the lease, whether or not its response arrived. */
  mayHold(): boolean;
  /** Monotonic ms before the request of the last confirmed write. */
  renewedAt(): number;
  /** Ms since then, by the monotonic and the wall clock. */
  sinceRenewal(): number;
};

type OwnLeaseOptions = {
  client: KubeClient;
  place: { namespace: string; name: string };
  identity: string;
  clock: Clock;
  annotations: Readonly<Record<string, string>>;
};

/** Expiry is judged by when *we* saw the lease change, never by another's clock. */
export function createOwnLease({ client, place, identity, clock, ...options }: OwnLeaseOptions): OwnLease {
  let lease: Lease | undefined;
  let seen: { version: string | undefined; at: number } = { version: undefined, at: 0 };
  let renewedAt = Number.NEGATIVE_INFINITY;
  let sinceRenewal: () => number = () => Number.POSITIVE_INFINITY;
  let mayHold = false;
  let { annotations } = options;

  const read = (signal: AbortSignal) => findObject<Lease>(client, leaseResource, place, { signal });
  const isForeign = () => lease !== undefined && lease.spec.holderIdentity !== identity;

  async function write(previous: Lease | undefined, signal: AbortSignal): Promise<true> {
    const asked = clock.monotonic();
    const sinceAsked = stopwatch(clock);
    const spec = heldBy(identity, previous?.spec, clock.now());
    mayHold = true;
    lease = await put({ ...previous, metadata: annotated(previous?.metadata ?? place), spec }, signal);
    sinceRenewal = sinceAsked;
    renewedAt = asked; // counted from before the request: never longer than what the server granted
    return true;
  }

  function annotated(metadata: ObjectMeta): ObjectMeta {
    if (Object.keys(annotations).length === 0) return metadata;
    return { ...metadata, annotations: { ...metadata.annotations, ...annotations } };
  }

  function put(next: Lease, signal: AbortSignal): Promise<Lease> {
    const body: Lease = { ...next, apiVersion: "coordination.k8s.io/v1", kind: "Lease" };
    return next.metadata.resourceVersion === undefined
      ? client.create(leaseResource, { namespace: place.namespace }, body, { signal })
      : client.update(leaseResource, place, body, { signal });
  }

  return {
    isForeign,
    holder: () => lease?.spec.holderIdentity,
    annotations: () => lease?.metadata.annotations ?? {},
    uid: () => lease?.metadata.uid,
    mayHold: () => mayHold,
    renewedAt: () => renewedAt,
    sinceRenewal: () => sinceRenewal(),
    annotate(added) {
      annotations = { ...annotations, ...added };
    },
    async take(wasHeld, signal) {
      if (lease?.spec.holderIdentity === identity) {
        try {
          // The holder writes the version that it wrote last, without a read.
          return await write(lease, signal);
        } catch (error) {
          if (!isConflict(error) && !isNotFound(error)) throw error;
        }
      }
      lease = await read(signal);
      if (lease?.metadata.resourceVersion !== seen.version) {
        seen = { version: lease?.metadata.resourceVersion, at: clock.monotonic() };
      }
      const holder = lease?.spec.holderIdentity ?? "";
      // Another process has ended that this one holds the lease: it is lost, even if nobody holds it now.
      if (wasHeld() && isForeign()) return false;
      if (holder !== "" && holder !== identity && clock.monotonic() < seen.at + LEASE_MS) return false;
      return await write(lease, signal);
    },
    async giveUp(again, signal) {
      const isOurs = !again && lease?.spec.holderIdentity === identity;
      const current = isOurs ? lease : await read(signal);
      if (current?.spec.holderIdentity !== identity) return;
      const spec: LeaseSpec = { ...current.spec, holderIdentity: "", leaseDurationSeconds: 1 };
      lease = await put({ ...current, spec }, signal);
    },
  };
}

/** The lease that the identity takes or renews. `previous`: what the lease is now. `now`: ms since the epoch. */
function heldBy(identity: string, previous: LeaseSpec | undefined, now: number): LeaseSpec {
  const microTime = new Date(now).toISOString().replace("Z", "000Z");
  const ours = previous?.holderIdentity === identity;
  return {
    holderIdentity: identity,
    leaseDurationSeconds: LEASE_MS / 1000,
    acquireTime: (ours ? previous.acquireTime : undefined) ?? microTime,
    renewTime: microTime,
    leaseTransitions: (previous?.leaseTransitions ?? 0) + (ours || previous === undefined ? 0 : 1),
  };
}
