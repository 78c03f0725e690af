import type { Clock } from "../base/clock.ts";
import { createFairQueue } from "../base/fair-queue.ts";
import type { Division, Pool } from "./division.ts";
import type { Pools } from "./pools.ts";
import type { Work } from "./work.ts";

/** `askedAt`: monotonic ms. */
export type WaitingJob = { work: Work; askedAt: number; wake: () => void };

/** Most jobs that are woken each second to show a new reason. */
const WAKE_AT_ONCE = 64;
const WAKE_EVERY_MS = 1_000;

/**
 * The waiting jobs. Namespaces take turns, and shares go by weight; a job that its share holds is passed over with those of its namespace
 * behind it.
 */
export function createWaitingLine(clock: Clock, pools: Pools, division: () => Division | undefined) {
  const queue = createFairQueue<WaitingJob>();
  const turns = createShareTurns();
  let cancel: (() => void) | undefined;
  /** When a job that was passed over may go, monotonic ms. */
  let freeAt = Number.POSITIVE_INFINITY;

  const allows = ({ work }: WaitingJob): boolean => {
    const held = pools.hold(work);
    freeAt = Math.min(freeAt, held?.untilMs ?? Number.POSITIVE_INFINITY);
    return held === undefined;
  };
  const poolOf = ({ namespace }: Work) => division()?.poolOf(namespace);
  const rank = ({ work }: WaitingJob): number => {
    const pool = poolOf(work);
    return pool === undefined ? 0 : turns.rank(pool);
  };
  return {
    ...queue,
    peek: () => (division() === undefined ? queue.peek() : queue.peek(allows, rank)),
    shift(work: Work): void {
      if (division() === undefined) queue.shift();
      else queue.shift(allows, rank);
      const pool = poolOf(work);
      if (pool !== undefined) turns.took(pool);
    },
    /** Calls `then` when a job that was passed over may go. Replaces the call before. */
    onFree(then: (() => void) | undefined): void {
      cancel?.();
      cancel = undefined;
      const waitMs = freeAt - clock.monotonic();
      freeAt = Number.POSITIVE_INFINITY;
      if (then !== undefined && Number.isFinite(waitMs)) cancel = clock.setTimeout(then, Math.max(1, waitMs));
    },
  };
}

/** Rounded, so that a long line does not change every status every minute. */
export function aheadText(ahead: number): string {
  if (ahead < 10)
    return `${ahead} ${ahead === 1 ? "job" : "jobs"} of the namespace ${ahead === 1 ? "goes" : "go"} first`;
  const step = 10 ** Math.floor(Math.log10(ahead));
  return `about ${Math.round(ahead / step) * step} jobs of the namespace go first`;
}

/**
 * Start-time fair queueing: while several shares wait, each gets requests in proportion to its weight. A share that did not wait, or that
 * its own limits held, saves nothing up.
 */
function createShareTurns() {
  /** The virtual time at which the next request of a share begins. */
  const nextAt = new Map<string, number>();
  let now = 0;
  return {
    /** Shares with a lower rank go first. */
    rank: ({ share }: Pick<Pool, "share">): number => Math.max(now, nextAt.get(share) ?? 0),
    took({ share, weight }: Pick<Pool, "share" | "weight">): void {
      now = Math.max(now, nextAt.get(share) ?? 0);
      nextAt.set(share, now + 1 / weight);
    },
  };
}

/** Wakes jobs, so that they show a new reason: some at once, the others second by second. Each call replaces the one before. */
export function createTeller(clock: Clock, stopped: () => boolean): (waiters: readonly WaitingJob[]) => void {
  let cancel: (() => void) | undefined;

  return function tell(waiters) {
    cancel?.();
    cancel = undefined;
    if (stopped()) return;
    for (const { wake } of waiters.slice(0, WAKE_AT_ONCE)) wake();
    const others = waiters.slice(WAKE_AT_ONCE);
    if (others.length > 0) cancel = clock.setTimeout(() => tell(others), WAKE_EVERY_MS);
  };
}
