import type { TaskResult } from "./task-result.ts";

/** The first poll of a task comes this long after its submission. */
export const FIRST_MS = 3_000;
const MIN_MS = 1_000;
const MAX_MS = 10_000;
const LONG_TASK_AFTER_MS = 10 * 60_000;
const LONG_MAX_MS = 30_000;

/** What the pace of a task depends on. `submittedAt` in ms since the epoch. */
export type Paced = {
  submittedAt: number;
  /** Polls in a row that failed. */
  failures: number;
  latest: { result: TaskResult } | undefined;
};

/**
 * When to poll a task next, in ms: after half of its expected remaining time, by `eta`, else by progress, else by its age.
 * Between 1 s and 10 s; up to 30 s for a task older than ten minutes. `stretch` (1 to 4) delays tasks that are far from
 * their end when the rate limit is too low for all, so a task that is almost done does not wait behind them.
 */
export function nextPollMs({ submittedAt, failures, latest }: Paced, now: number, stretch = 1): number {
  const age = now - submittedAt;
  const cap = age > LONG_TASK_AFTER_MS ? LONG_MAX_MS : MAX_MS;
  if (failures > 0) return Math.min(cap, FIRST_MS * 2 ** Math.min(failures - 1, 4));
  const left = leftMs(latest?.result, age);
  if (left === undefined) return clamp(age / 4, FIRST_MS, cap * stretch);
  return clamp(left * (1 - 1 / (2 * stretch)), MIN_MS, cap * stretch);
}

/** The expected remaining time, ms. */
function leftMs(result: TaskResult | undefined, age: number): number | undefined {
  const { eta, progressPercent } = result?.task ?? {};
  if (eta !== undefined && eta > 0) return eta * 1000;
  if (progressPercent === undefined || progressPercent <= 0 || progressPercent >= 100) return undefined;
  return (age / progressPercent) * (100 - progressPercent);
}

/** Finds the stretch at which polls start when they are due. */
export type PollStretch = {
  /** A poll started `ms` late. */
  polledLate(ms: number): void;
  stretch(): number;
};

const LATE_MS = 500;
const MAX_STRETCH = 4;

export function createPace(): PollStretch {
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
