import { type Clock, delay } from "../../clock.ts";
import { OPERATION_NAMES, type Operation } from "../operations.ts";
import { createWaitingLine, type Waiter } from "./waiting-line.ts";

export type LimiterOptions = {
  clock: Clock;
  /** In [0, 1), for the jitter of back-offs. */
  random: () => number;
  /** Calls per second of the whole account, default 10. */
  requestsPerSecond?: number;
  /** Calls that may go at once after a quiet time, default 20. */
  burst?: number;
  /** Calls per minute of single operations, under the account's own rate. */
  requestsPerMinute?: { readonly [operation in Operation]?: number };
  /**
   * Begin as after a burst. A new process or leader does not know what the former one has used up a moment ago; so both
   * together never exceed the rate. Default: begin as after a quiet time.
   */
  startsEmpty?: boolean;
};

/**
 * One account's right to call. Calls go in order of arrival, higher priorities first; every eighth goes to the one that
 * has waited longest, so that a low priority is slow but never starves. A paused operation holds up no other one.
 */
export type Limiter = {
  /** Resolves when the call may go. Rejects with the signal's reason when it is aborted first; nothing is used up then. */
  acquire(
    operation: Operation,
    options?: { signal?: AbortSignal | undefined; priority?: number | undefined },
  ): Promise<void>;
  /**
   * Resolves when a call that was let go may leave: at once, unless others were held up since they were let go (by a
   * journal that takes seconds) and would leave in a heap with it. Rejects with the signal's reason; nothing is used up then.
   */
  depart(operation: Operation, signal?: AbortSignal): Promise<void>;
  /**
   * After a 429: lets no call of the operation go for what the service asked, else 1 s doubling to 60 s with jitter. Never
   * shortens a pause. Returns the pause in ms.
   */
  rateLimited(operation: Operation, retryAfterMs?: number): number;
  /** After any answer but 429: the next back-off starts at 1 s again. */
  succeeded(operation: Operation): void;
  /** Calls that wait. */
  waiting(): number;
  /** In how many ms a call that came now could go, those before it included; 0 means at once. */
  nextFreeInMs(operation: Operation): number;
};

const BACKOFF_FIRST_MS = 1000;
const BACKOFF_MAX_MS = 60_000;
const FAIR_EVERY = 8;
/** Rounding of the clock must not keep a token back that is due. */
const EPSILON = 1e-6;

type Bucket = { perMs: number; burst: number; tokens: number; at: number };

export function createLimiter(options: LimiterOptions): Limiter {
  const { clock, random } = options;
  const newBucket = (perMs: number, burst: number) =>
    bucket(perMs, burst, options.startsEmpty === true ? 0 : burst, clock.now());
  const newAccountBucket = () => newBucket((options.requestsPerSecond ?? 10) / 1000, options.burst ?? 20);
  const account = newAccountBucket();
  const leaving = newAccountBucket();
  const lanes = new Map(
    OPERATION_NAMES.map((operation) => {
      const perMinute = options.requestsPerMinute?.[operation];
      const newOwn = () =>
        perMinute === undefined ? undefined : newBucket(perMinute / 60_000, Math.max(1, perMinute / 60));
      return [operation, { own: newOwn(), leaving: newOwn(), pausedUntil: 0, failures: 0, line: createWaitingLine() }];
    }),
  );
  let sequence = 0;
  let granted = 0;
  let cancelWake = () => {};

  const laneOf = (operation: Operation) => {
    const lane = lanes.get(operation);
    if (lane === undefined) throw new Error(`unknown operation ${operation}`);
    return lane;
  };
  type Lane = ReturnType<typeof laneOf>;

  /** When the operation itself (its pause and its own bucket) lets the next call go. */
  const laneFreeAt = (lane: Lane, now: number) =>
    Math.max(lane.pausedUntil, lane.own === undefined ? now : freeAt(lane.own, 1, now));

  function pump(): void {
    cancelWake();
    const now = clock.now();
    for (;;) {
      const busy = [...lanes.values()].filter((lane) => lane.line.size() > 0);
      if (busy.length === 0) return;
      const accountAt = freeAt(account, 1, now);
      const wakeAt = Math.max(accountAt, Math.min(...busy.map((lane) => laneFreeAt(lane, now))));
      if (wakeAt > now) {
        cancelWake = clock.setTimeout(pump, Math.max(1, Math.ceil(wakeAt - now)));
        return;
      }
      const ready = busy.filter((lane) => laneFreeAt(lane, now) <= now);
      const fair = granted % FAIR_EVERY === FAIR_EVERY - 1;
      const lane = pick(ready, fair);
      if (lane === undefined) return;
      granted += 1;
      take(account, now);
      if (lane.own !== undefined) take(lane.own, now);
      lane.line.shift(fair)?.go();
    }
  }

  /** The lane whose next call is due first: by priority and arrival, or by arrival alone when it is the fair turn. */
  function pick(ready: Lane[], fair: boolean): Lane | undefined {
    let best: { lane: Lane; waiter: Waiter } | undefined;
    for (const lane of ready) {
      const waiter = lane.line.peek(fair);
      if (waiter === undefined) continue;
      const before =
        best === undefined ||
        (!fair && waiter.priority !== best.waiter.priority
          ? waiter.priority > best.waiter.priority
          : waiter.sequence < best.waiter.sequence);
      if (before) best = { lane, waiter };
    }
    return best?.lane;
  }

  return {
    acquire: (operation, { signal, priority = 0 } = {}) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted === true) {
          reject(signal.reason);
          return;
        }
        const { line } = laneOf(operation);
        const onAbort = () => {
          line.remove(waiter);
          reject(signal?.reason);
          pump();
        };
        const waiter: Waiter = {
          priority,
          sequence: sequence++,
          go: () => {
            signal?.removeEventListener("abort", onAbort);
            resolve();
          },
        };
        signal?.addEventListener("abort", onAbort, { once: true });
        line.push(waiter);
        pump();
      }),
    depart: async (operation, signal) => {
      signal?.throwIfAborted();
      const now = clock.now();
      const own = laneOf(operation).leaving;
      const buckets = own === undefined ? [leaving] : [leaving, own];
      const at = Math.max(...buckets.map((one) => freeAt(one, 1, now)));
      // Taken now and perhaps below zero: who comes next leaves after this one.
      for (const one of buckets) one.tokens -= 1;
      if (at <= now) return;
      await delay(clock, Math.ceil(at - now), signal);
      if (signal?.aborted !== true) return;
      for (const one of buckets) one.tokens += 1;
      throw signal.reason;
    },
    rateLimited: (operation, retryAfterMs) => {
      const lane = laneOf(operation);
      const now = clock.now();
      // Calls that were in flight together are refused together; that is one refusal, not many.
      if (retryAfterMs === undefined && lane.pausedUntil > now) return lane.pausedUntil - now;
      lane.failures += 1;
      const backoff = Math.min(BACKOFF_MAX_MS, BACKOFF_FIRST_MS * 2 ** Math.min(lane.failures - 1, 16));
      const pauseMs = retryAfterMs ?? backoff * (0.8 + 0.4 * random());
      lane.pausedUntil = Math.max(lane.pausedUntil, now + pauseMs);
      pump();
      return lane.pausedUntil - now;
    },
    succeeded: (operation) => {
      laneOf(operation).failures = 0;
    },
    waiting: () => [...lanes.values()].reduce((sum, lane) => sum + lane.line.size(), 0),
    nextFreeInMs: (operation) => {
      const now = clock.now();
      const lane = laneOf(operation);
      const ahead = [...lanes.values()].filter((other) => laneFreeAt(other, now) <= now || other === lane);
      const before = ahead.reduce((sum, other) => sum + other.line.size(), 0);
      const ownAt = lane.own === undefined ? now : freeAt(lane.own, lane.line.size() + 1, now);
      return Math.max(0, Math.ceil(Math.max(freeAt(account, before + 1, now), ownAt, lane.pausedUntil) - now));
    },
  };
}

function bucket(perMs: number, burst: number, tokens: number, now: number): Bucket {
  if (!(perMs > 0 && burst >= 1)) throw new RangeError("a rate must be greater than 0 and a burst at least 1");
  return { perMs, burst, tokens, at: now };
}

function refill(bucket: Bucket, now: number): void {
  // A clock that was set back gives nothing and takes nothing.
  const elapsed = Math.max(0, now - bucket.at);
  bucket.tokens = Math.min(bucket.burst, bucket.tokens + elapsed * bucket.perMs);
  bucket.at = now;
}

function freeAt(bucket: Bucket, wanted: number, now: number): number {
  refill(bucket, now);
  const missing = wanted - bucket.tokens;
  return missing <= EPSILON ? now : now + missing / bucket.perMs;
}

function take(bucket: Bucket, now: number): void {
  refill(bucket, now);
  bucket.tokens = Math.max(0, bucket.tokens - 1);
}
