import type { Clock } from "../base/clock.ts";

/**
 * Holds the paid work of an account whose balance is empty: the service refuses every request until somebody pays. One
 * request at a time tries again, after pauses that grow from one minute to half an hour. A success ends the hold.
 */
export type BalanceHold = {
  /** Why paid work waits now; undefined: it does not, or the next request may try. */
  message(): string | undefined;
  /** The same, even while a request may try. */
  reason(): string | undefined;
  /** A request tries now. */
  tries(uid: string): void;
  /** The service refused a request for the balance. Those that were sent before the hold do not lengthen it. */
  refused(message: string): void;
  /** The service accepted a paid request. */
  accepted(): void;
  /** The request of the job has ended, with any outcome. */
  ended(uid: string): void;
  /** The balance rose: a request may try at once. */
  retry(): void;
  /** `onChange` is not called any more. */
  end(): void;
};

type EmptyBalance = { message: string; pauseMs: number; until: number; trying: string | undefined };

const FIRST_PAUSE_MS = 60_000;
const LONGEST_PAUSE_MS = 30 * 60_000;

/** @param onChange called when the hold begins or ends, and when a request may try */
export function createBalanceHold(clock: Clock, onChange: () => void): BalanceHold {
  let hold: EmptyBalance | undefined;
  let cancel: (() => void) | undefined;

  function wait(next: EmptyBalance): void {
    hold = next;
    cancel?.();
    cancel = clock.setTimeout(onChange, next.until - clock.monotonic());
  }

  const isHeld = (one: EmptyBalance) => one.trying !== undefined || clock.monotonic() < one.until;

  return {
    message: () => (hold !== undefined && isHeld(hold) ? hold.message : undefined),
    reason: () => hold?.message,
    tries(uid) {
      if (hold !== undefined) hold.trying = uid;
    },
    refused(message) {
      if (hold !== undefined && clock.monotonic() < hold.until) return;
      const pauseMs = hold === undefined ? FIRST_PAUSE_MS : Math.min(2 * hold.pauseMs, LONGEST_PAUSE_MS);
      const isNew = hold === undefined;
      wait({ message, pauseMs, until: clock.monotonic() + pauseMs, trying: undefined });
      if (isNew) onChange();
    },
    accepted() {
      if (hold === undefined) return;
      hold = undefined;
      cancel?.();
      onChange();
    },
    ended(uid) {
      if (hold?.trying === uid) wait({ ...hold, until: clock.monotonic() + hold.pauseMs, trying: undefined });
    },
    retry() {
      if (hold === undefined || hold.trying !== undefined) return;
      wait({ ...hold, until: clock.monotonic() });
    },
    end: () => cancel?.(),
  };
}
