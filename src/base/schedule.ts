import TinyQueue from "tinyqueue";
import { type Clock, delay } from "./clock.ts";

/** Items with a time. One timer runs, for the earliest of them. */
export type Schedule<T> = {
  /** `due`: monotonic ms. An item stays until its time has come: its owner ignores it when it is outdated. */
  add(item: T, due: number): void;
  /** Ends the timer: nothing becomes due any more. */
  stop(): void;
};

/** `onDue` gets all items whose time has come, the earliest first. */
export function createSchedule<T>(clock: Clock, onDue: (items: { item: T; due: number }[]) => void): Schedule<T> {
  const heap = new TinyQueue<{ item: T; due: number }>([], (a, b) => a.due - b.due);
  let cancelTimer = () => {};
  let timerDue = Number.POSITIVE_INFINITY;
  let stopped = false;

  function arm(): void {
    const first = heap.peek();
    if (stopped || first === undefined || first.due >= timerDue) return;
    cancelTimer();
    timerDue = first.due;
    cancelTimer = clock.setTimeout(wake, Math.max(0, first.due - clock.monotonic()));
  }

  function wake(): void {
    timerDue = Number.POSITIVE_INFINITY;
    const due: { item: T; due: number }[] = [];
    for (let first = heap.peek(); first !== undefined && first.due <= clock.monotonic(); first = heap.peek()) {
      heap.pop();
      due.push(first);
    }
    arm();
    onDue(due);
  }

  return {
    add(item, due) {
      heap.push({ item, due });
      arm();
    },
    stop() {
      stopped = true;
      cancelTimer();
    },
  };
}

/** Polls again and again until it is stopped. */
export type PollLoop = {
  /** Aborts when the loop stops. */
  readonly signal: AbortSignal;
  start(): void;
  /** `dueInMs` may be less by now: asks it at once. */
  wake(): void;
  /** Aborts a poll under way and waits for it. */
  stop(): Promise<void>;
};

export type PollLoopOptions = {
  clock: Clock;
  /** Message of the reason with which `stop` aborts a poll. */
  stopReason: string;
  /** Milliseconds until the next poll; 0 or less: poll now. Called at least once a second, so that a change applies at once. */
  dueInMs: () => number;
  /** One poll. It reports its own failures, and may reject only when `signal` is aborted. */
  poll: (signal: AbortSignal) => Promise<void>;
};

/** `dueInMs` is called at least this often. */
const LONGEST_WAIT_MS = 1_000;

export function createPollLoop({ clock, stopReason, dueInMs, poll }: PollLoopOptions): PollLoop {
  const ended = new AbortController();
  let running: Promise<void> | undefined;
  let wake = () => {};

  async function run(): Promise<void> {
    while (!ended.signal.aborted) {
      const waitMs = dueInMs();
      if (waitMs > 0) await pause(Math.min(LONGEST_WAIT_MS, waitMs));
      else await poll(ended.signal);
    }
  }

  function pause(ms: number): Promise<void> {
    const woken = new AbortController();
    wake = () => woken.abort();
    return delay(clock, ms, woken.signal);
  }

  return {
    signal: ended.signal,
    start() {
      running ??= run();
    },
    wake: () => wake(),
    async stop() {
      ended.abort(new Error(stopReason));
      wake();
      await running;
    },
  };
}
