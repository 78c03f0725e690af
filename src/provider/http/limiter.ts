import type { Clock } from "../../base/clock.ts";
import { createBucket } from "../../base/token-bucket.ts";
import type { Operation } from "../operations.ts";
import { createAdaptiveRate } from "./adaptive-rate.ts";
import { createFirstBytes, type FirstBytes } from "./first-bytes.ts";
import { createRatedQueue, type Rates, type TurnOptions } from "./rated-queue.ts";

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
 * The rate limit of one account. A call first waits for its turn (`acquire`), departs after its commit (`depart`), and leaves with a
 * connection (`mayLeave`).
 */
export type Limiter = FirstBytes & {
  /** Resolves when the call may leave. Rejects with the signal's reason when it is aborted first; no token is used then. */
  acquire(operation: Operation, options?: TurnOptions): Promise<void>;
  /**
   * Resolves when a call that was acquired and committed may leave: at once, unless a slow journal or a pause of the process
   * delayed several calls, which would otherwise leave together. Rejects with the signal's reason; no token is used then.
   */
  depart(operation: Operation, signal?: AbortSignal): Promise<void>;
  /**
   * After a 429: pauses the operation for 1 s doubling to 60 s with jitter, or for the time that the service asks if that is
   * longer. Never shortens a pause. Lowers the rate of the account (adaptive-rate.ts). Returns the pause in ms.
   */
  rateLimited(operation: Operation, retryAfterMs?: number): number;
  /** After any other response: the next backoff starts at 1 s again, and a lowered rate rises. */
  succeeded(operation: Operation): void;
  /** Number of calls that wait. */
  waiting(): number;
};

const BACKOFF_FIRST_MS = 1000;
const BACKOFF_MAX_MS = 60_000;

export function createLimiter(options: LimiterOptions): Limiter {
  const { clock, random } = options;
  const rates = [ratesOf(options), ratesOf(options), ratesOf(options)] as const;
  const turns = createRatedQueue(clock, rates[0]);
  const leaving = createRatedQueue(clock, rates[1]);
  const firstBytes = createFirstBytes(clock, rates[2]);
  const adaptive = createAdaptiveRate(
    clock,
    rates.map(({ account }) => account),
  );
  /** 429 responses in a row. */
  const failures = new Map<Operation, number>();

  return {
    acquire: turns.take,
    depart: (operation, signal) => leaving.take(operation, { signal }),
    mayLeave: firstBytes.mayLeave,
    rateLimited: (operation, retryAfterMs = 0) => {
      adaptive.refused();
      const now = clock.monotonic();
      let pauseMs = retryAfterMs;
      // Calls that were in flight together are refused together: that counts as one refusal.
      if (turns.pausedUntil(operation) <= now) {
        const before = failures.get(operation) ?? 0;
        failures.set(operation, before + 1);
        const backoff = Math.min(BACKOFF_MAX_MS, BACKOFF_FIRST_MS * 2 ** Math.min(before, 16));
        pauseMs = Math.max(pauseMs, backoff * (0.8 + 0.4 * random()));
      }
      turns.pause(operation, now + pauseMs);
      return turns.pausedUntil(operation) - now;
    },
    succeeded: (operation) => {
      adaptive.succeeded();
      failures.delete(operation);
    },
    waiting: turns.waiting,
  };
}

/** New buckets of the account and of its operations. */
function ratesOf({ clock, startsEmpty, requestsPerSecond = 10, burst = 20, ...options }: LimiterOptions): Rates {
  const now = clock.monotonic();
  const bucket = (perMs: number, most: number) => createBucket(perMs, most, startsEmpty === true ? 0 : most, now);
  return {
    account: bucket(requestsPerSecond / 1000, burst),
    own(operation) {
      const perMinute = options.requestsPerMinute?.[operation];
      return perMinute === undefined ? undefined : bucket(perMinute / 60_000, Math.max(1, perMinute / 60));
    },
  };
}
