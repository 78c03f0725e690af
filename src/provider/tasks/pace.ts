import type { TaskResult } from "./task-result.ts";

/** The first poll of a task comes this long after its submission. */
export const FIRST_MS = 3_000;
const MIN_MS = 1_000;
const MAX_MS = 10_000;
const LONG_TASK_AFTER_MS = 10 * 60_000;
const LONG_MAX_MS = 30_000;

/** What the pace of a task is taken from. `submittedAt` in ms since the epoch. */
export type Paced = {
  submittedAt: number;
  /** Polls in a row that failed. */
  failures: number;
  latest: { result: TaskResult } | undefined;
};

/**
 * When to ask about a task again, in ms: after half of the time that it is expected to need, by `eta`, else by progress, else by
 * its age; within 1 s and 10 s, 30 s for a task of more than ten minutes. `stretch` (1 to 4) lets tasks that are far from their end
 * wait longer where the rate limit does not allow that for all: who is almost done must not stand in line behind them.
 */
export function nextPollMs({ submittedAt, failures, latest }: Paced, now: number, stretch = 1): number {
  const age = now - submittedAt;
  const cap = age > LONG_TASK_AFTER_MS ? LONG_MAX_MS : MAX_MS;
  if (failures > 0) return Math.min(cap, FIRST_MS * 2 ** Math.min(failures - 1, 4));
  const left = leftMs(latest?.result, age);
  if (left === undefined) return clamp(age / 4, FIRST_MS, cap * stretch);
  return clamp(left * (1 - 1 / (2 * stretch)), MIN_MS, cap * stretch);
}

/** How long a task is expected to need still. */
function leftMs(result: TaskResult | undefined, age: number): number | undefined {
  const { eta, progressPercent } = result?.task ?? {};
  if (eta !== undefined && eta > 0) return eta * 1000;
  if (progressPercent === undefined || progressPercent <= 0 || progressPercent >= 100) return undefined;
  return (age / progressPercent) * (100 - progressPercent);
}

/** Finds the stretch at which polls are made when they are due. */
export type Pace = {
  /** Told how late a poll was begun, ms. */
  polledLate(ms: number): void;
  stretch(): number;
};

const LATE_MS = 500;
const MAX_STRETCH = 4;

export function createPace(): Pace {
  let stretch = 1;
  return {
    polledLate(ms) {
      stretch = ms > LATE_MS ? Math.min(MAX_STRETCH, stretch * 1.02) : Math.max(1, stretch * 0.99);
    },
    stretch: () => stretch,
  };
}

function clamp(ms: number, min: number, max: number): number {
  return Math.min(max, Math.max(min, ms));
}
