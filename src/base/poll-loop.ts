import { type Clock, delay } from "./clock.ts";

/** Polls again and again until it is stopped. */
export type PollLoop = {
  /** Aborts when the loop stops. */
  readonly signal: AbortSignal;
  start(): void;
  /** Aborts a poll under way and waits for it. */
  stop(): Promise<void>;
};

export type PollLoopOptions = {
  clock: Clock;
  /** Message of the reason with which `stop` aborts a poll. */
  stopReason: string;
  /** In how many ms the next poll is due; 0 or less: at once. Asked at least once a second, so that a change holds at once. */
  dueInMs: () => number;
  /** One poll. A failure is its own to report; it may reject only when `signal` is aborted. */
  poll: (signal: AbortSignal) => Promise<void>;
};

/** `dueInMs` is called at least this often. */
const LONGEST_WAIT_MS = 1_000;

export function createPollLoop({ clock, stopReason, dueInMs, poll }: PollLoopOptions): PollLoop {
  const ended = new AbortController();
  let running: Promise<void> | undefined;

  async function run(): Promise<void> {
    while (!ended.signal.aborted) {
      const waitMs = dueInMs();
      if (waitMs > 0) await delay(clock, Math.min(LONGEST_WAIT_MS, waitMs), ended.signal);
      else await poll(ended.signal);
    }
  }

  return {
    signal: ended.signal,
    start() {
      running ??= run();
    },
    async stop() {
      ended.abort(new Error(stopReason));
      await running;
    },
  };
}
