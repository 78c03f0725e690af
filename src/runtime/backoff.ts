import type { Clock } from "../base/clock.ts";

export type BackoffOptions = {
  /** First delay, ms. */
  baseMs: number;
  /** Longest delay, ms. */
  capMs: number;
  /** Share of the delay that is random, 0-1. */
  jitter: number;
  /** In [0, 1). */
  random: () => number;
};

/** The delay before attempt `failures` + 1: base x 2^(failures-1), capped, then spread by +-jitter/2. */
export function backoffDelay(failures: number, options: BackoffOptions): number {
  const raw = Math.min(options.capMs, options.baseMs * 2 ** Math.min(Math.max(failures - 1, 0), 30));
  return raw * (1 - options.jitter / 2 + options.jitter * options.random());
}

/** Until when each key waits before its next attempt, on the monotonic clock. Times in ms since the epoch, as the wall clock is now. */
export type Backoffs = {
  until(key: string): number | undefined;
  /**
   * An attempt failed. The next one waits for a delay that grows with each call until `reset`, or for `afterMs` if that is longer.
   * Returns until when.
   */
  fail(key: string, afterMs?: number): number;
  reset(key: string): void;
};

export function createBackoffs(clock: Pick<Clock, "now" | "monotonic">, options: BackoffOptions): Backoffs {
  /** `until`: monotonic ms. */
  const backoffs = new Map<string, { failures: number; until: number }>();
  const wall = (monotonic: number) => clock.now() + monotonic - clock.monotonic();
  return {
    until(key) {
      const known = backoffs.get(key);
      return known && wall(known.until);
    },
    fail(key, afterMs = 0) {
      const failures = (backoffs.get(key)?.failures ?? 0) + 1;
      const until = clock.monotonic() + Math.ceil(Math.max(afterMs, backoffDelay(failures, options)));
      backoffs.set(key, { failures, until });
      return wall(until);
    },
    reset: (key) => void backoffs.delete(key),
  };
}
