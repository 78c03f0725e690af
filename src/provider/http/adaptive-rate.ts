import type { Clock } from "../../base/clock.ts";
import { type Bucket, freeAt } from "../../base/token-bucket.ts";

/**
 * Lowers the rate of an account whose service allows less than `rateLimit`, so that its calls go steadily and not in bursts
 * that are refused. Each 429 multiplies the rate, and every other response adds a little, up to the rate of the account.
 *
 * # Guarantees
 * - The rate is never above the one of the account, and never below a tenth of it.
 * - While it is lowered, a burst is at most what the rate allows in a second.
 * - Refusals within a second count once: calls in flight together are refused together.
 */
export type AdaptiveRate = {
  /** After a 429. */
  refused(): void;
  /** After any other response. */
  succeeded(): void;
};

const DECREASE = 0.75;
/** Share of the account's rate that a response adds. */
const INCREASE = 0.001;
const LOWEST = 0.1;
const ONE_REFUSAL_MS = 1_000;

/** @param buckets of the account, with its rate and burst; their owners keep them */
export function createAdaptiveRate(clock: Clock, buckets: readonly Bucket[]): AdaptiveRate {
  const allowed = buckets.map((bucket) => ({ bucket, perMs: bucket.perMs, burst: bucket.burst }));
  let share = 1;
  let refusedAt = Number.NEGATIVE_INFINITY;

  function set(next: number): void {
    share = Math.min(1, Math.max(LOWEST, next));
    const now = clock.monotonic();
    for (const { bucket, perMs, burst } of allowed) {
      freeAt(bucket, now); // refills at the former rate
      bucket.perMs = perMs * share;
      bucket.burst = share === 1 ? burst : Math.min(burst, Math.max(1, bucket.perMs * 1000));
      bucket.tokens = Math.min(bucket.tokens, bucket.burst);
    }
  }

  return {
    refused() {
      const now = clock.monotonic();
      if (now - refusedAt < ONE_REFUSAL_MS) return;
      refusedAt = now;
      set(share * DECREASE);
    },
    succeeded() {
      if (share < 1) set(share + INCREASE);
    },
  };
}
