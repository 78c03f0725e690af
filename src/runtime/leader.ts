import type { Logger } from "pino";
import { type Clock, delay, stopwatch, withDeadline } from "../base/clock.ts";
import { findObject, type KubeClient } from "../kube/client.ts";
import { isAlreadyExists, isConflict, isNotFound } from "../kube/errors.ts";
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

export type LeaderElector = {
  /** Resolves when this process holds the lease; keeps renewing it until `release` or loss. */
  acquire(signal: AbortSignal): Promise<void>;
  /** Aborts when the lease could not be renewed within its renew deadline. */
  readonly lost: AbortSignal;
  /**
   * True while no other process can hold the lease, by our own monotonic and wall clocks. False from the call of `release` on. Look
   * right before a write.
   */
  surelyHeld(): boolean;
  /**
   * Gives the lease up, so that another replica takes over at once. Repeats the write for up to 5 s. Then the lease runs out by
   * itself. Never rejects.
   */
  release(): Promise<void>;
};

/** One lease, which can carry facts for other processes. */
export type LeaseElector = LeaderElector & {
  /** The annotations of the lease, as this process read or wrote it last. */
  annotations(): Readonly<Record<string, string>>;
  /** Writes annotations with the lease, now and with every renewal. @throws Error when the lease is lost meanwhile */
  annotate(annotations: Readonly<Record<string, string>>): Promise<void>;
};

export type LeaderElectorOptions = {
  client: KubeClient;
  namespace: string;
  name: string;
  identity: string;
  clock: Clock;
  log: Logger;
  onLeading?: (leading: boolean) => void;
  /** Written with the lease from the first moment on. Default: none. */
  annotations?: Readonly<Record<string, string>>;
};

/** client-go's defaults: others may take the lease after this long without a renewal. */
export const LEASE_MS = 15_000;
/** The holder stops when it has not renewed for this long. */
const RENEW_DEADLINE_MS = 10_000;
const RETRY_MS = 2_000;
/** How long the release is tried, and each attempt of it. */
const RELEASE_MS = 5_000;
const RELEASE_ATTEMPT_MS = 2_000;
const RELEASE_RETRY_MS = 200;

/** Leader election over a coordination.k8s.io Lease; expiry is judged by when *we* saw the lease change, never by another's clock. */
export function createLeaderElector(options: LeaderElectorOptions): LeaseElector {
  const { client, clock, identity, log } = options;
  const place = { namespace: options.namespace, name: options.name };
  const lost = new AbortController();
  const ended = new AbortController();
  let lease: Lease | undefined;
  let seen: { version: string | undefined; at: number } = { version: undefined, at: 0 };
  let renewedAt = Number.NEGATIVE_INFINITY;
  let sinceRenewal: () => number = () => Number.POSITIVE_INFINITY;
  /** A write can have taken the lease, whether or not its response arrived. */
  let mayHold = false;
  let released = false;
  let renewing: Promise<void> | undefined;
  let annotations = options.annotations ?? {};
  /** One attempt at a time: a renewal and a change of the annotations would conflict. */
  let last: Promise<unknown> = Promise.resolve();

  async function tryOnce(signal: AbortSignal): Promise<boolean> {
    if (lease?.spec.holderIdentity === identity) {
      try {
        // The holder writes the version that it wrote last, without a read.
        return await take(lease, signal);
      } catch (error) {
        if (!isConflict(error) && !isNotFound(error)) throw error;
      }
    }
    lease = await findObject<Lease>(client, leaseResource, place, { signal });
    if (lease?.metadata.resourceVersion !== seen.version) {
      seen = { version: lease?.metadata.resourceVersion, at: clock.monotonic() };
    }
    const holder = lease?.spec.holderIdentity ?? "";
    if (isTaken()) return false;
    if (holder !== "" && holder !== identity && clock.monotonic() < seen.at + LEASE_MS) return false;
    return await take(lease, signal);
  }

  async function take(previous: Lease | undefined, signal: AbortSignal): Promise<true> {
    const asked = clock.monotonic();
    const sinceAsked = stopwatch(clock);
    const spec = heldBy(identity, previous?.spec, clock.now());
    mayHold = true;
    lease = await write({ ...previous, metadata: annotated(previous?.metadata ?? place), spec }, signal);
    sinceRenewal = sinceAsked;
    renewedAt = asked; // counted from before the request: never longer than what the server granted
    return true;
  }

  function annotated(metadata: ObjectMeta): ObjectMeta {
    if (Object.keys(annotations).length === 0) return metadata;
    return { ...metadata, annotations: { ...metadata.annotations, ...annotations } };
  }

  /** Whether this process held the lease, and another one has ended that. Then it is lost, even if nobody holds it now. */
  function isTaken(): boolean {
    return renewing !== undefined && lease !== undefined && lease.spec.holderIdentity !== identity;
  }

  function write(next: Lease, signal: AbortSignal): Promise<Lease> {
    const body: Lease = { ...next, apiVersion: "coordination.k8s.io/v1", kind: "Lease" };
    return next.metadata.resourceVersion === undefined
      ? client.create(leaseResource, { namespace: place.namespace }, body, { signal })
      : client.update(leaseResource, place, body, { signal });
  }

  /** Repeats the release until the API server shows that this process does not hold the lease. */
  async function giveUp(signal: AbortSignal): Promise<void> {
    for (let known = lease; ; known = undefined) {
      try {
        return await withDeadline(clock, RELEASE_ATTEMPT_MS, (deadline) =>
          giveUpOnce(known, AbortSignal.any([signal, deadline])),
        );
      } catch (error) {
        if (signal.aborted) throw error;
        log.debug({ reason: String(error) }, "lease not released; trying again");
      }
      await delay(clock, RELEASE_RETRY_MS, signal);
    }
  }

  /** `known`: the lease as this process wrote it last. A renewal whose response is lost makes it a conflict. Default: reads it. */
  async function giveUpOnce(known: Lease | undefined, signal: AbortSignal): Promise<void> {
    const isOurs = known?.spec.holderIdentity === identity;
    const current = isOurs ? known : await findObject<Lease>(client, leaseResource, place, { signal });
    if (current?.spec.holderIdentity !== identity) return;
    const spec: LeaseSpec = { ...current.spec, holderIdentity: "", leaseDurationSeconds: 1 };
    lease = await write({ ...current, spec }, signal);
  }

  function attempt(): Promise<boolean> {
    const next = last.then(attemptNow);
    last = next;
    return next;
  }

  async function attemptNow(): Promise<boolean> {
    try {
      return await withDeadline(clock, RENEW_DEADLINE_MS / 2, (deadline) =>
        tryOnce(AbortSignal.any([ended.signal, deadline])),
      );
    } catch (error) {
      const raced = isConflict(error) || isAlreadyExists(error);
      if (!ended.signal.aborted) log[raced ? "debug" : "warn"]({ reason: String(error) }, "lease not written");
      return false;
    }
  }

  async function renew(): Promise<void> {
    while (!ended.signal.aborted) {
      await delay(clock, RETRY_MS, ended.signal);
      if (ended.signal.aborted || (await attempt())) continue;
      if (isTaken() || clock.monotonic() >= renewedAt + RENEW_DEADLINE_MS) {
        options.onLeading?.(false);
        const reason = isTaken() ? takenBy(lease?.spec.holderIdentity) : ": it could not be renewed";
        lost.abort(new Error(`lease ${place.namespace}/${place.name} lost${reason}`));
        return;
      }
    }
  }

  return {
    lost: lost.signal,
    annotations: () => lease?.metadata.annotations ?? {},
    async annotate(added) {
      annotations = { ...annotations, ...added };
      while (!(await attempt())) {
        if (lost.signal.aborted) throw lost.signal.reason;
        if (ended.signal.aborted) throw ended.signal.reason;
        await delay(clock, RETRY_MS, AbortSignal.any([lost.signal, ended.signal]));
      }
    },
    surelyHeld: () => !released && !lost.signal.aborted && sinceRenewal() < RENEW_DEADLINE_MS,
    async acquire(signal) {
      let told = false;
      while (!(await attempt())) {
        if (!told) {
          log.info({ holder: lease?.spec.holderIdentity }, "waiting for the lease");
          told = true;
        }
        await delay(clock, RETRY_MS, signal);
        signal.throwIfAborted();
      }
      options.onLeading?.(true);
      log.info({ lease: `${place.namespace}/${place.name}`, identity }, "leading");
      renewing = renew();
    },
    async release() {
      released = true;
      ended.abort(new Error("the lease is released"));
      await renewing;
      await last;
      if (!mayHold || lost.signal.aborted) return;
      if (renewing !== undefined) options.onLeading?.(false);
      mayHold = false;
      try {
        await withDeadline(clock, RELEASE_MS, giveUp);
      } catch (error) {
        log.warn({ reason: String(error) }, "lease not released; it runs out by itself");
      }
    },
  };
}

function takenBy(holder: string | undefined): string {
  return holder === undefined || holder === "" ? ": another process has ended it" : ` to ${holder}`;
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

/** @throws Error unless this process surely holds the lease. Without leader election, it always does. */
export function assertSurelyHeld(elector: Pick<LeaderElector, "surelyHeld"> | undefined): void {
  if (elector?.surelyHeld() === false) throw new Error("the lease is not surely held: nothing is sent");
}
