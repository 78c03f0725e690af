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

function refill(bucket: Bucket, now: number): void {
  // A clock that is set back neither adds nor removes tokens.
  const elapsed = Math.max(0, now - bucket.at);
  bucket.tokens = Math.min(bucket.burst, bucket.tokens + elapsed * bucket.perMs);
  bucket.at = now;
}
