import { type Clock, delay } from "../../clock.ts";
import { OPERATION_NAMES, type Operation } from "../operations.ts";
import { type Bucket, createBucket, freeAt, takeToken } from "./token-bucket.ts";
import { createWaitingLine, type Waiter, type WaitingLine } from "./waiting-line.ts";

export type LimiterOptions = {
  clock: Clock;
  /** In [0, 1), for jitter. */
  random: () => number;
  /** Calls per second of the whole account, default 10. */
  requestsPerSecond?: number;
  /** Calls that may leave at once after a quiet time, default 20. */
  burst?: number;
  /** Calls per minute of single operations, within the rate of the account. */
  requestsPerMinute?: { readonly [operation in Operation]?: number };
  /**
   * Start with an empty bucket. A new leader does not know what the former one just used, so both together do not exceed
   * the rate. Default: start with a full bucket.
   */
  startsEmpty?: boolean;
};

/**
 * The rate limit of one account. Calls leave in order of arrival, higher priorities first. Every eighth turn goes to the
 * call that has waited longest, so a low priority never starves. A paused operation does not delay other operations.
 */
export type Limiter = {
  /** Resolves when the call may leave. Rejects with the signal's reason when it is aborted first; no token is used then. */
  acquire(
    operation: Operation,
    options?: { signal?: AbortSignal | undefined; priority?: number | undefined },
  ): Promise<void>;
  /**
   * Resolves when a call that was acquired and committed may leave: at once, unless a slow journal delayed several calls,
   * which would otherwise leave together. Rejects with the signal's reason; no token is used then.
   */
  depart(operation: Operation, signal?: AbortSignal): Promise<void>;
  /**
   * After a 429: pauses the operation for the time that the service asks, else for 1 s doubling to 60 s with jitter. Never
   * shortens a pause. Returns the pause in ms.
   */
  rateLimited(operation: Operation, retryAfterMs?: number): number;
  /** After any other response: the next backoff starts at 1 s again. */
  succeeded(operation: Operation): void;
  /** Number of calls that wait. */
  waiting(): number;
};

const BACKOFF_FIRST_MS = 1000;
const BACKOFF_MAX_MS = 60_000;
const FAIR_EVERY = 8;

/** The calls of one operation. `own` and `leaving` limit it beside the account's buckets. */
type Lane = {
  own: Bucket | undefined;
  leaving: Bucket | undefined;
  pausedUntil: number;
  /** 429 responses in a row. */
  failures: number;
  line: WaitingLine;
};

export function createLimiter(options: LimiterOptions): Limiter {
  const { clock, random } = options;
  const { account, leaving, lanes } = createBuckets(options);
  let sequence = 0;
  let granted = 0;
  let cancelWake = () => {};

  function laneOf(operation: Operation): Lane {
    const lane = lanes.get(operation);
    if (lane === undefined) throw new Error(`unknown operation ${operation}`);
    return lane;
  }

  function pump(): void {
    cancelWake();
    const now = clock.monotonic();
    for (;;) {
      const busy = [...lanes.values()].filter((lane) => lane.line.size() > 0);
      if (busy.length === 0) return;
      const accountAt = freeAt(account, now);
      const wakeAt = Math.max(accountAt, Math.min(...busy.map((lane) => laneFreeAt(lane, now))));
      if (wakeAt > now) {
        cancelWake = clock.setTimeout(pump, Math.max(1, Math.ceil(wakeAt - now)));
        return;
      }
      const ready = busy.filter((lane) => laneFreeAt(lane, now) <= now);
      const fair = granted % FAIR_EVERY === FAIR_EVERY - 1;
      const lane = firstLane(ready, fair);
      if (lane === undefined) return;
      granted += 1;
      takeToken(account, now);
      if (lane.own !== undefined) takeToken(lane.own, now);
      lane.line.shift(fair)?.go();
    }
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
      const now = clock.monotonic();
      const own = laneOf(operation).leaving;
      const buckets = own === undefined ? [leaving] : [leaving, own];
      const at = Math.max(...buckets.map((one) => freeAt(one, now)));
      // Taken now, perhaps below zero: the next call leaves after this one.
      for (const one of buckets) one.tokens -= 1;
      if (at <= now) return;
      await delay(clock, Math.ceil(at - now), signal);
      if (signal?.aborted !== true) return;
      for (const one of buckets) one.tokens += 1;
      throw signal.reason;
    },
    rateLimited: (operation, retryAfterMs) => {
      const lane = laneOf(operation);
      const now = clock.monotonic();
      // Calls that were in flight together are refused together: that counts as one refusal.
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
  };
}

/** The account's buckets and a lane for each operation. */
function createBuckets(options: LimiterOptions): { account: Bucket; leaving: Bucket; lanes: Map<Operation, Lane> } {
  const now = options.clock.monotonic();
  const bucket = (perMs: number, burst: number) =>
    createBucket(perMs, burst, options.startsEmpty === true ? 0 : burst, now);
  const ofAccount = () => bucket((options.requestsPerSecond ?? 10) / 1000, options.burst ?? 20);
  const ofOperation = (operation: Operation) => {
    const perMinute = options.requestsPerMinute?.[operation];
    return perMinute === undefined ? undefined : bucket(perMinute / 60_000, Math.max(1, perMinute / 60));
  };
  const lanes = OPERATION_NAMES.map((operation): [Operation, Lane] => {
    const buckets = { own: ofOperation(operation), leaving: ofOperation(operation) };
    return [operation, { ...buckets, pausedUntil: 0, failures: 0, line: createWaitingLine() }];
  });
  return { account: ofAccount(), leaving: ofAccount(), lanes: new Map(lanes) };
}

/** When the operation's own pause and bucket let the next call leave. */
function laneFreeAt({ own, pausedUntil }: Lane, now: number): number {
  return Math.max(pausedUntil, own === undefined ? now : freeAt(own, now));
}

/** The lane whose next call is first: by priority and arrival; on the fair turn by arrival alone. */
function firstLane(lanes: Lane[], fair: boolean): Lane | undefined {
  let best: { lane: Lane; waiter: Waiter } | undefined;
  for (const lane of lanes) {
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
