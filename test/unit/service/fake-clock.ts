import type { Clock } from "../../../src/service/clock.ts";

export type FakeClock = Clock & {
  /** Moves time, running what is due on the way in order, and lets promises settle in between. */
  advance(ms: number): Promise<void>;
};

export function createFakeClock(start = 0): FakeClock {
  let time = start;
  let timers: { at: number; fn: () => void }[] = [];
  const settle = () => new Promise<void>((resolve) => setImmediate(resolve));
  return {
    now: () => time,
    setTimeout: (fn, ms) => {
      const timer = { at: time + ms, fn };
      timers.push(timer);
      return () => {
        timers = timers.filter((other) => other !== timer);
      };
    },
    advance: async (ms) => {
      const end = time + ms;
      await settle();
      for (;;) {
        const next = timers.filter((timer) => timer.at <= end).sort((a, b) => a.at - b.at)[0];
        if (next === undefined) break;
        timers = timers.filter((timer) => timer !== next);
        time = Math.max(time, next.at);
        next.fn();
        await settle();
      }
      time = end;
      await settle();
    },
  };
}
