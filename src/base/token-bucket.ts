import { type Clock, delay } from "./clock.ts";

/** Tokens that refill at a rate up to a burst. Each call takes one. Times in ms of one clock. */
export type Bucket = { perMs: number; burst: number; tokens: number; at: number };

/** Rounding of the clock must not delay a token that is due. */
const EPSILON = 1e-6;

/** @throws RangeError for a rate that is not positive or a burst below 1 */
export function createBucket(perMs: number, burst: number, tokens: number, now: number): Bucket {
  if (!(perMs > 0 && burst >= 1)) throw new RangeError("a rate must be greater than 0 and a burst at least 1");
  return { perMs, burst, tokens, at: now };
}

/** When the bucket has a token: `now` or later. */
export function freeAt(bucket: Bucket, now: number): number {
  refill(bucket, now);
  const missing = 1 - bucket.tokens;
  return missing <= EPSILON ? now : now + missing / bucket.perMs;
}

export function takeToken(bucket: Bucket, now: number): void {
  refill(bucket, now);
  bucket.tokens = Math.max(0, bucket.tokens - 1);
}

/** Refills at the former rate up to `now`, then changes the rate. */
export function setRate(bucket: Bucket, { perMs, burst }: Pick<Bucket, "perMs" | "burst">, now: number): void {
  refill(bucket, now);
  Object.assign(bucket, { perMs, burst, tokens: Math.min(bucket.tokens, burst) });
}

/** Whether the bucket is full, and so limits nothing. */
export function isFull(bucket: Bucket, now: number): boolean {
  refill(bucket, now);
  return bucket.tokens >= bucket.burst;
}

/** Spreads calls over time, however many callers share it. Callers go in the order in which they ask. */
export type Pace = {
  /** Resolves when the next call may begin, or at once when `signal` aborts: the caller checks the signal. */
  turn(signal: AbortSignal): Promise<void>;
};

/** @param perSecond calls that may begin in a second once `burst` calls are used up */
export function createPace(clock: Clock, perSecond: number, burst = 1): Pace {
  const bucket = createBucket(perSecond / 1000, burst, burst, clock.monotonic());
  return {
    async turn(signal) {
      refill(bucket, clock.monotonic());
      // Below 0: calls that wait have their tokens already.
      bucket.tokens -= 1;
      const waitMs = -bucket.tokens / bucket.perMs;
      if (waitMs > EPSILON) await delay(clock, waitMs, signal);
    },
  };
}

function refill(bucket: Bucket, now: number): void {
  // A clock that is set back neither adds nor removes tokens.
  const elapsed = Math.max(0, now - bucket.at);
  bucket.tokens = Math.min(bucket.burst, bucket.tokens + elapsed * bucket.perMs);
  bucket.at = now;
}
