import type { Logger } from "pino";
import { type Clock, delay, withDeadline } from "../base/clock.ts";
import type { KubeClient } from "../kube/client.ts";
import { isAlreadyExists, isConflict } from "../kube/errors.ts";
import { createOwnLease, type OwnLease } from "./lease.ts";

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
  /** The lease that this process holds; undefined: none. */
  held(): { name: string; uid: string } | undefined;
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

/** The holder stops when it has not renewed for this long. */
const RENEW_DEADLINE_MS = 10_000;
const RETRY_MS = 2_000;
/** How long the release is tried, and each attempt of it. */
const RELEASE_MS = 5_000;
const RELEASE_ATTEMPT_MS = 2_000;
const RELEASE_RETRY_MS = 200;

/** Leader election over a coordination.k8s.io Lease. */
export function createLeaderElector(options: LeaderElectorOptions): LeaseElector {
  const { client, clock, identity, log } = options;
  const place = { namespace: options.namespace, name: options.name };
  const lost = new AbortController();
  const ended = new AbortController();
  const lease = createOwnLease({ client, place, identity, clock, annotations: options.annotations ?? {} });
  let released = false;
  let renewing: Promise<void> | undefined;
  /** One attempt at a time: a renewal and a change of the annotations would conflict. */
  let last: Promise<unknown> = Promise.resolve();

  function attempt(): Promise<boolean> {
    const next = last.then(() => takeOnce(lease, () => renewing !== undefined, ended.signal, options));
    last = next;
    return next;
  }

  async function renew(): Promise<void> {
    while (!ended.signal.aborted) {
      await delay(clock, RETRY_MS, ended.signal);
      if (ended.signal.aborted || (await attempt())) continue;
      const isTaken = lease.isForeign();
      if (isTaken || clock.monotonic() >= lease.renewedAt() + RENEW_DEADLINE_MS) {
        options.onLeading?.(false);
        const reason = isTaken ? takenBy(lease.holder()) : ": it could not be renewed";
        lost.abort(new Error(`lease ${place.namespace}/${place.name} lost${reason}`));
        return;
      }
    }
  }

  return {
    lost: lost.signal,
    annotations: lease.annotations,
    async annotate(added) {
      lease.annotate(added);
      while (!(await attempt())) {
        if (lost.signal.aborted) throw lost.signal.reason;
        if (ended.signal.aborted) throw ended.signal.reason;
        await delay(clock, RETRY_MS, AbortSignal.any([lost.signal, ended.signal]));
      }
    },
    surelyHeld: () => !released && !lost.signal.aborted && lease.sinceRenewal() < RENEW_DEADLINE_MS,
    held() {
      const uid = lease.uid();
      return uid === undefined ? undefined : { name: place.name, uid };
    },
    async acquire(signal) {
      let told = false;
      while (!(await attempt())) {
        if (!told) log.info({ holder: lease.holder() }, "waiting for the lease");
        told = true;
        await delay(clock, RETRY_MS, signal);
        signal.throwIfAborted();
      }
      options.onLeading?.(true);
      log.info({ lease: `${place.namespace}/${place.name}`, identity }, "leading");
      renewing = renew();
    },
    async release() {
      const wasReleased = released;
      released = true;
      ended.abort(new Error("the lease is released"));
      await renewing;
      await last;
      if (wasReleased || !lease.mayHold() || lost.signal.aborted) return;
      if (renewing !== undefined) options.onLeading?.(false);
      await giveUp(lease, options);
    },
  };
}

/** One attempt to take or renew the lease. False: it is another one's, or the write failed. */
async function takeOnce(
  lease: OwnLease,
  wasHeld: () => boolean,
  ended: AbortSignal,
  { clock, log }: Pick<LeaderElectorOptions, "clock" | "log">,
): Promise<boolean> {
  try {
    return await withDeadline(clock, RENEW_DEADLINE_MS / 2, (deadline) =>
      lease.take(wasHeld, AbortSignal.any([ended, deadline])),
    );
  } catch (error) {
    const raced = isConflict(error) || isAlreadyExists(error);
    if (!ended.aborted) log[raced ? "debug" : "warn"]({ reason: String(error) }, "lease not written");
    return false;
  }
}

/** Repeats the release until the API server shows that this process does not hold the lease. */
async function giveUp(lease: OwnLease, { clock, log }: Pick<LeaderElectorOptions, "clock" | "log">): Promise<void> {
  try {
    await withDeadline(clock, RELEASE_MS, async (signal) => {
      for (let again = false; ; again = true) {
        try {
          return await withDeadline(clock, RELEASE_ATTEMPT_MS, (deadline) =>
            lease.giveUp(again, AbortSignal.any([signal, deadline])),
          );
        } catch (error) {
          if (signal.aborted) throw error;
          log.debug({ reason: String(error) }, "lease not released; trying again");
        }
        await delay(clock, RELEASE_RETRY_MS, signal);
      }
    });
  } catch (error) {
    log.warn({ reason: String(error) }, "lease not released: it expires after its duration");
  }
}

function takenBy(holder: string | undefined): string {
  return holder === undefined || holder === "" ? ": another process has ended it" : ` to ${holder}`;
}

/** @throws Error unless this process surely holds the lease. Without leader election, it always does. */
export function assertSurelyHeld(elector: Pick<LeaderElector, "surelyHeld"> | undefined): void {
  if (elector?.surelyHeld() === false) throw new Error("the lease is not surely held: nothing is sent");
}
