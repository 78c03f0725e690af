import { type Clock, delay } from "../clock.ts";

/** Spreads reads over time, however many readers share it. Readers go in the order in which they ask. */
export type ReadBudget = {
  readonly perSecond: number;
  /** Resolves when the next read may begin, or at once when `signal` aborts: the caller looks at the signal. */
  turn(signal: AbortSignal): Promise<void>;
};

/** @param perSecond reads that may begin in a second, above 0 */
export function createReadBudget(clock: Clock, perSecond: number): ReadBudget {
  let nextAt = Number.NEGATIVE_INFINITY;

  return {
    perSecond,
    async turn(signal) {
      const now = clock.monotonic();
      const at = Math.max(now, nextAt);
      nextAt = at + 1_000 / perSecond;
      if (at > now) await delay(clock, at - now, signal);
    },
  };
}
