import type { Clock } from "../../../src/base/clock.ts";
import type { Scheduler } from "./scheduler.ts";

/** 2026-03-01T00:00:00Z. */
export const EPOCH_MS = Date.UTC(2026, 2, 1);

/** Between two events that a process reads when it continues. */
const LINE_MS = 0.001;

/**
 * The time of one process. While the process is paused nothing of it runs; what came due meanwhile runs when it
 * continues. After its death nothing of it runs any more.
 */
export type ProcessTime = {
  clock: Clock;
  /** Runs `run` unless the process is dead, and not before it continues when it is paused. */
  deliver(run: () => void): void;
  pause(): void;
  resume(): void;
  die(): void;
  alive(): boolean;
};

/** @param skewMs by how much its wall clock is ahead */
export function createProcessTime(scheduler: Scheduler, skewMs: number): ProcessTime {
  let alive = true;
  let paused = false;
  let held: (() => void)[] = [];

  function deliver(run: () => void): void {
    if (!alive) return;
    if (paused) held.push(run);
    else run();
  }

  return {
    clock: {
      now: () => EPOCH_MS + skewMs + scheduler.now(),
      monotonic: () => 1_000_000 + scheduler.now(),
      setTimeout(fn, ms) {
        let canceled = false;
        if (ms === Number.POSITIVE_INFINITY || !alive) return () => {};
        const cancel = scheduler.after(ms, () =>
          deliver(() => {
            if (!canceled) fn();
          }),
        );
        return () => {
          canceled = true;
          cancel();
        };
      },
    },
    deliver,
    pause() {
      paused = true;
    },
    resume() {
      paused = false;
      // One event each, as the process reads them from its sockets and timers. Lines of one connection never overtake each other.
      for (const [index, run] of held.splice(0).entries()) scheduler.after(index * LINE_MS, () => deliver(run));
    },
    die() {
      alive = false;
      held = [];
    },
    alive: () => alive,
  };
}
