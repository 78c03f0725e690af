import type { Clock } from "../../base/clock.ts";
import { type Bucket, freeAt, takeToken } from "../../base/token-bucket.ts";
import type { Operation } from "../operations.ts";
import type { Rates } from "./rated-queue.ts";

/**
 * The rate at which first bytes leave. A call has its turn before it waits for a connection. While the service cannot be
 * reached, calls with a turn wait for as many connections as a pool has, and would leave together when it is back.
 *
 * # Guarantees
 * - Calls that waited for longer than 1 s leave only while their first bytes and those of all other calls keep the rate.
 * - Other calls always leave: their turns are at most 1 s old.
 */
export type FirstBytes = {
  /**
   * Asked right before the first byte of a call. `waitedMs`: since its turn. False: the turn has lapsed, and the call needs
   * another one.
   */
  mayLeave(operation: Operation, waitedMs: number): boolean;
};

/** A turn holds for this long, ms. */
const TURN_MS = 1_000;

export function createFirstBytes(clock: Clock, { account, own }: Rates): FirstBytes {
  const ownBuckets = new Map<Operation, Bucket | undefined>();

  function bucketsOf(operation: Operation): Bucket[] {
    if (!ownBuckets.has(operation)) ownBuckets.set(operation, own(operation));
    const bucket = ownBuckets.get(operation);
    return bucket === undefined ? [account] : [account, bucket];
  }

  return {
    mayLeave(operation, waitedMs) {
      const now = clock.monotonic();
      const buckets = bucketsOf(operation);
      if (waitedMs > TURN_MS && buckets.some((bucket) => freeAt(bucket, now) > now)) return false;
      for (const bucket of buckets) takeToken(bucket, now);
      return true;
    },
  };
}
