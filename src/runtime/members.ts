import type { Logger } from "pino";
import { type Clock, delay, withDeadline } from "../base/clock.ts";
import { createPollLoop } from "../base/schedule.ts";
import type { KubeClient } from "../kube/client.ts";
import { isConflict } from "../kube/errors.ts";
import { createOwnLease, type OwnLease, SURELY_HELD_MS } from "./lease.ts";
import { createLeases, type Member } from "./leases.ts";

/**
 * The processes of an installation. Each has one Lease, with its name, and renews it every 2 s. There is no leader.
 *
 * # Expected flow
 * 1. `join` makes the lease. From then on this process renews it, and looks at the leases of the others.
 * 2. `leave` ends the lease, when this process has given up what it served.
 *
 * # Guarantees
 * - A process whose `hasEnded` is true sends nothing any more. The end of a lease is a write: who finds a lease unchanged for 15 s, by its
 *   own monotonic clock, empties the holder with the version as the lock. So a successful renewal proves that nobody did.
 * - A lease that is missing counts as ended 15 s after this process first saw that.
 * - `surelyHeld` is false when the last renewal is 10 s old, by the monotonic or the wall clock.
 * - `lost` aborts when the lease of this process was ended or deleted. The process must end.
 */
export type Members = {
  /** Name of this process and of its lease. */
  readonly name: string;
  join(signal: AbortSignal): Promise<void>;
  readonly lost: AbortSignal;
  surelyHeld(): boolean;
  /** Whether this process may take accounts. The others see it within a second. */
  setReady(ready: boolean): void;
  isReady(): boolean;
  /** Whether this process is the oldest ready one: it does once what every process could do. For a moment, two may be. */
  isFirst(): boolean;
  /** Processes that live, this one included, the oldest first. */
  list(): readonly Member[];
  /** Whether the process of this name has ended. */
  hasEnded(name: string): boolean;
  /** Called after a look that showed other processes, or another state of one, than the look before. */
  onChange(listener: () => void): void;
  /** Ends the lease, for at most 5 s. Then it runs out by itself. Never rejects. */
  leave(): Promise<void>;
};

export type MembersOptions = {
  client: KubeClient;
  namespace: string;
  name: string;
  /** No other process takes accounts while this one lives. Default false. */
  excludes?: boolean;
  clock: Clock;
  log: Pick<Logger, "info" | "warn" | "debug">;
};

const RENEW_MS = 2_000;
const LOOK_MS = 2_000;
/** The same while a lease may be about to expire. */
const SOON_MS = 500;
const ATTEMPT_MS = 5_000;
const LEAVE_MS = 5_000;
const LEAVE_ATTEMPT_MS = 2_000;
const RETRY_MS = 200;
export function createMembers({ client, namespace, name, excludes = false, clock, log }: MembersOptions): Members {
  const lost = new AbortController();
  const lease = createOwnLease({ client, place: { namespace, name }, excludes, clock });
  const leases = createLeases({ client, namespace, own: name, clock, log });
  const listeners: (() => void)[] = [];
  let left = false;
  let ready = false;
  let joined = false;
  let asked = false;
  let renewedAt = Number.NEGATIVE_INFINITY;
  let lookedAt = Number.NEGATIVE_INFINITY;
  let shown = "";

  /** Undefined: nobody knows. */
  async function attempt<T>(what: string, ending: AbortSignal, run: (signal: AbortSignal) => Promise<T>) {
    try {
      return await withDeadline(clock, ATTEMPT_MS, (deadline) => run(AbortSignal.any([ending, deadline])));
    } catch (error) {
      if (!ending.aborted) log[isConflict(error) ? "debug" : "warn"]({ reason: String(error) }, what);
      return undefined;
    }
  }

  async function renew(ending: AbortSignal): Promise<boolean> {
    asked = true;
    renewedAt = clock.monotonic();
    const renewed = await attempt("lease not renewed", ending, lease.renew);
    if (renewed === false) {
      lost.abort(new Error(`lease ${namespace}/${name} was ended or deleted: others may serve the accounts`));
    }
    return renewed === true;
  }

  async function look(ending: AbortSignal): Promise<void> {
    lookedAt = clock.monotonic();
    await attempt("the leases of other processes were not read", ending, leases.look);
    const now = JSON.stringify(leases.living().map(({ name, ready }) => [name, ready]));
    if (now === shown) return;
    shown = now;
    for (const listener of listeners) listener();
  }

  const dueIn = (at: number, everyMs: number) => (lost.signal.aborted ? everyMs : at + everyMs - clock.monotonic());
  const loop = { clock, stopReason: "the process leaves" };
  const loops = [
    createPollLoop({
      ...loop,
      dueInMs: () => dueIn(renewedAt, RENEW_MS),
      poll: async (signal) => void (await renew(signal)),
    }),
    createPollLoop({ ...loop, dueInMs: () => dueIn(lookedAt, leases.mayExpire() ? SOON_MS : LOOK_MS), poll: look }),
  ];

  return {
    name,
    lost: lost.signal,
    surelyHeld: () => joined && !left && !lost.signal.aborted && lease.sinceRenewal() < SURELY_HELD_MS,
    async join(signal) {
      while (!(await renew(signal))) {
        signal.throwIfAborted();
        lost.signal.throwIfAborted();
        await delay(clock, RENEW_MS, signal);
      }
      joined = true;
      await look(signal);
      log.info({ lease: `${namespace}/${name}` }, "joined the installation");
      for (const { start } of loops) start();
    },
    setReady(next) {
      ready = next;
      lease.setReady(next);
      renewedAt = Number.NEGATIVE_INFINITY;
    },
    isReady: () => ready,
    isFirst() {
      if (!ready) return false;
      const first = leases.living().find((member) => member.ready || member.name === name);
      return first === undefined || first.name === name;
    },
    list: leases.living,
    hasEnded: (other) => other !== name && leases.hasEnded(other),
    onChange: (listener) => void listeners.push(listener),
    async leave() {
      if (left || !asked) return;
      left = true;
      await Promise.all(loops.map(({ stop }) => stop()));
      if (!lost.signal.aborted) await endLease(lease, { clock, log });
    },
  };
}

/** Repeats the write until the API server shows that the lease has ended. */
async function endLease(lease: OwnLease, { clock, log }: Pick<MembersOptions, "clock" | "log">): Promise<void> {
  try {
    await withDeadline(clock, LEAVE_MS, async (signal) => {
      for (;;) {
        try {
          return await withDeadline(clock, LEAVE_ATTEMPT_MS, (deadline) =>
            lease.end(AbortSignal.any([signal, deadline])),
          );
        } catch (error) {
          if (signal.aborted) throw error;
        }
        await delay(clock, RETRY_MS, signal);
      }
    });
  } catch (error) {
    log.warn({ reason: String(error) }, "lease not ended: it expires");
  }
}
