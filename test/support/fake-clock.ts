import { type Clock, systemClock } from "../../src/base/clock.ts";

export type FakeClock = Clock & {
  /** Moves time on by `ms`: timers that come due run in order, each with what follows from it settled. */
  advance(ms: number): Promise<void>;
  /** Pauses the process for `ms`: timers that come due meanwhile run late, at the next `advance`. */
  pause(ms: number): void;
  /** Timers that are armed. */
  timers(): number;
  /** Sets the wall clock by `ms`; monotonic time and timers do not notice. */
  setWallClock(ms: number): void;
};

type Timer = { at: number; fn: () => void };

/** 2026-03-01T00:00:00Z. */
export const START = Date.UTC(2026, 2, 1);

/** A clock that stands still until told. Monotonic time starts at 1,000,000 so that a mix-up of the two shows. */
export function createFakeClock(startMs = START): FakeClock {
  let elapsed = 0;
  let wallMs = startMs;
  const timers = new Set<Timer>();

  function nextDue(until: number): Timer | undefined {
    let first: Timer | undefined;
    for (const timer of timers) {
      if (timer.at <= until && (first === undefined || timer.at < first.at)) first = timer;
    }
    return first;
  }

  return {
    now: () => wallMs + elapsed,
    monotonic: () => 1_000_000 + elapsed,
    setTimeout(fn, ms) {
      const timer = { at: elapsed + Math.max(0, ms), fn };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
    pause: (ms) => {
      elapsed += ms;
    },
    timers: () => timers.size,
    setWallClock: (ms) => {
      wallMs += ms;
    },
    async advance(ms) {
      const until = elapsed + ms;
      await settle();
      for (let timer = nextDue(until); timer !== undefined; timer = nextDue(until)) {
        timers.delete(timer);
        elapsed = Math.max(elapsed, timer.at);
        timer.fn();
        await settle();
      }
      elapsed = until;
      await settle();
    },
  };
}

/** Real time whose timers take a hundredth: what looks again after a second does so after 10 ms. */
export const hastyClock: Clock = { ...systemClock, setTimeout: (run, ms) => systemClock.setTimeout(run, ms / 100) };

/** Lets everything that waits for nothing but promises go on. */
export async function settle(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

/** Far beyond what a busy machine takes, and short of the time limit of a test. */
const GENEROUS_MS = 120_000;

/** Waits in real time for what comes over a socket; with `clock`, moves it on by `stepMs` meanwhile. */
export async function until(
  what: () => boolean,
  options: { clock?: FakeClock; stepMs?: number; timeoutMs?: number } = {},
): Promise<void> {
  const deadline = performance.now() + (options.timeoutMs ?? GENEROUS_MS);
  while (!what()) {
    if (performance.now() > deadline) throw new Error(`still not true: ${what}`);
    if (options.clock === undefined) await settle();
    else await options.clock.advance(options.stepMs ?? 1);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}
