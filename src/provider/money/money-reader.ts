import type { Logger } from "pino";
import type { Clock } from "../../base/clock.ts";
import { createPollLoop } from "../../base/schedule.ts";
import { isGivenUp } from "../errors.ts";

/** When a read began. `at`: ms since the epoch. `monotonic`: ms of the monotonic clock. */
export type ReadTime = { at: number; monotonic: number };

/** Reads the bills or the budgets of an account at intervals. */
export type MoneyReader<T> = {
  /** undefined until a read succeeds. A read that fails does not change it: see `lastRead`. */
  latest(): T | undefined;
  /** When the read of `latest` began. */
  lastRead(): ReadTime | undefined;
  /** Why the last read failed; undefined: it did not. */
  failure(): string | undefined;
  start(): void;
  stop(): Promise<void>;
};

export type MoneyReaderOptions<T> = {
  /** Its name in the log. */
  what: string;
  /** Milliseconds until the next read. `agoMs`: since the last one began. `failed`: whether it failed. */
  dueInMs: (agoMs: number, failed: boolean) => number;
  read: (signal: AbortSignal) => Promise<T>;
  onRead?: (() => void) | undefined;
  onFailed?: (() => void) | undefined;
  clock: Clock;
  log: Logger;
};

export function createMoneyReader<T>({ what, read, clock, log, ...options }: MoneyReaderOptions<T>): MoneyReader<T> {
  let latest: T | undefined;
  let lastRead: ReadTime | undefined;
  let failure: string | undefined;
  let readAt = Number.NEGATIVE_INFINITY;

  const loop = createPollLoop({
    clock,
    stopReason: "the session of the account is closed",
    dueInMs: () => options.dueInMs(clock.monotonic() - readAt, failure !== undefined),
    async poll(signal) {
      readAt = clock.monotonic();
      const began: ReadTime = { at: clock.now(), monotonic: readAt };
      try {
        latest = await read(signal);
        lastRead = began;
        failure = undefined;
        options.onRead?.();
      } catch (error) {
        if (signal.aborted) return;
        // Not every kind of credential may read bills (interface: Authentication), so the account stays usable.
        failure = error instanceof Error ? error.message : String(error);
        log[isGivenUp(error) ? "debug" : "warn"]({ reason: failure }, `${what} could not be read`);
        options.onFailed?.();
      }
    },
  });

  return {
    latest: () => latest,
    lastRead: () => lastRead,
    failure: () => failure,
    start: loop.start,
    stop: loop.stop,
  };
}
