import type { Clock } from "../base/clock.ts";
import { type Bucket, createBucket, freeAt, isFull, takeToken } from "../base/token-bucket.ts";

/** An event that was sent, and how often it happened since. */
export type Series = { name: string; namespace: string; count: number };

/**
 * What was sent lately. The same event again counts up its series. Each object has 25 events at once, and then one in five
 * minutes (client-go's spam filter). What is too old to matter is forgotten once a minute.
 */
export type EventMemory = {
  /** The series of an event that happened in the last six minutes, counted up; undefined: it is a new event. */
  countUp(key: string): Series | undefined;
  /** Whether the object may have another event, which counts. */
  allows(uid: string): boolean;
  begin(key: string, event: { name: string; namespace: string }): void;
  forget(key: string): void;
  /** Number of series and objects that are remembered. */
  size(): number;
};

const SERIES_MS = 6 * 60_000;
const BURST = 25;
const REFILL_MS = 5 * 60_000;
const FORGET_EVERY_MS = 60_000;

export function createEventMemory(clock: Pick<Clock, "monotonic">): EventMemory {
  const series = new Map<string, Series & { lastSeen: number }>();
  const buckets = new Map<string, Bucket>();
  let forgottenAt = clock.monotonic();

  function forgetOld(now: number): void {
    if (now - forgottenAt < FORGET_EVERY_MS) return;
    forgottenAt = now;
    for (const [key, one] of series) if (now - one.lastSeen > SERIES_MS) series.delete(key);
    for (const [uid, bucket] of buckets) if (isFull(bucket, now)) buckets.delete(uid);
  }

  return {
    countUp(key) {
      const now = clock.monotonic();
      forgetOld(now);
      const known = series.get(key);
      if (known === undefined || now - known.lastSeen > SERIES_MS) return undefined;
      known.count++;
      known.lastSeen = now;
      return known;
    },
    allows(uid) {
      const now = clock.monotonic();
      const bucket = buckets.get(uid) ?? createBucket(1 / REFILL_MS, BURST, BURST, now);
      buckets.set(uid, bucket);
      if (freeAt(bucket, now) > now) return false;
      takeToken(bucket, now);
      return true;
    },
    begin: (key, event) => void series.set(key, { ...event, count: 1, lastSeen: clock.monotonic() }),
    forget: (key) => void series.delete(key),
    size: () => series.size + buckets.size,
  };
}
