import type { Clock } from "../../base/clock.ts";
import { type Bucket, freeAt, takeToken } from "../../base/token-bucket.ts";
import { OPERATION_NAMES, type Operation } from "../operations.ts";
import { createWaitingLine, type Waiter, type WaitingLine } from "./waiting-line.ts";

/**
 * Calls that wait for their turn at a rate. They go in order of arrival, higher priorities first. Every eighth turn goes to the
 * call that has waited longest, so a low priority never starves. An operation that waits does not delay other operations.
 *
 * A call takes its tokens at the moment when it goes. So the rate holds after a pause of the process too: calls whose time came
 * during the pause go at the rate, and not together with the burst that the pause has filled up.
 */
export type RatedQueue = {
  /** Resolves when the call may go. Rejects with the signal's reason when it is aborted first; no token is used then. */
  take(operation: Operation, options?: TurnOptions): Promise<void>;
  /** No call of the operation goes before `until`, monotonic ms. Never shortens a pause. */
  pause(operation: Operation, until: number): void;
  /** Monotonic ms. */
  pausedUntil(operation: Operation): number;
  /** Number of calls that wait. */
  waiting(): number;
};

export type TurnOptions = { signal?: AbortSignal | undefined; priority?: number | undefined };

/** The buckets of the account and of single operations. */
export type Rates = { account: Bucket; own: (operation: Operation) => Bucket | undefined };

const FAIR_EVERY = 8;

/** The calls of one operation. `own` limits it beside the account's bucket. */
type Lane = { own: Bucket | undefined; pausedUntil: number; line: WaitingLine };

export function createRatedQueue(clock: Clock, { account, own }: Rates): RatedQueue {
  const lanes = new Map(
    OPERATION_NAMES.map((operation): [Operation, Lane] => [
      operation,
      { own: own(operation), pausedUntil: 0, line: createWaitingLine() },
    ]),
  );
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
    take: (operation, { signal, priority = 0 } = {}) =>
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
    pause(operation, until) {
      const lane = laneOf(operation);
      lane.pausedUntil = Math.max(lane.pausedUntil, until);
      pump();
    },
    pausedUntil: (operation) => laneOf(operation).pausedUntil,
    waiting: () => [...lanes.values()].reduce((sum, lane) => sum + lane.line.size(), 0),
  };
}

/** When the operation's own pause and bucket let the next call go. */
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
