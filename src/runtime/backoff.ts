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
