import type { AnyObject } from "./object-state.ts";

/** How far an object is. Times in seconds. */
export type Progress = {
  /** Of a job, 0 to 100. */
  percent?: number;
  /** Of a batch: items that succeeded, of all. */
  items?: { succeeded: number; failed: number; total: number };
  /** Of a job: since its request was accepted, else since it was created; until its end. */
  elapsedSeconds?: number;
  /** Of a running job: what the service still expects to need. */
  leftSeconds?: number;
  /** Of an endpoint: workers that serve, of `spec.workers.max`. */
  workers?: { ready: number; max: number };
};

/** What an object cost, in yuan, as its status shows it. `per`: the period that the amount covers. */
export type Cost = { yuan: string; per: "job" | "batch" | "month" | "report" };

/** `now`: ms since the epoch. */
export function progressOf({ metadata, spec, status }: AnyObject, now: number): Progress {
  if (status === undefined) return {};
  const { phase, progressPercent, etaSeconds, submitTime, completionTime, workers } = status;
  const { succeeded = 0, failed = 0, total } = status;
  if (phase !== undefined) {
    const start = Date.parse(submitTime ?? metadata.creationTimestamp);
    const end = completionTime === undefined ? now : Date.parse(completionTime);
    const isRunning = phase === "Queued" || phase === "Running";
    return {
      ...(isRunning && progressPercent !== undefined ? { percent: progressPercent } : {}),
      ...(total === undefined ? {} : { items: { succeeded, failed, total } }),
      elapsedSeconds: Math.max(0, Math.round((end - start) / 1000)),
      ...(isRunning && etaSeconds !== undefined ? { leftSeconds: etaSeconds } : {}),
    };
  }
  const max = numberAt(spec, "workers", "max");
  return workers?.ready === undefined || max === undefined ? {} : { workers: { ready: workers.ready, max } };
}

export function costOf({ status }: AnyObject): Cost | undefined {
  const { estimatedCost, costSoFar, spend, totals } = status ?? {};
  if (costSoFar !== undefined) return { yuan: costSoFar, per: "batch" };
  if (typeof estimatedCost === "string") return { yuan: estimatedCost, per: "job" };
  const month = estimatedCost?.month ?? spend?.month;
  if (month !== undefined) return { yuan: month, per: "month" };
  return totals?.amount === undefined ? undefined : { yuan: totals.amount, per: "report" };
}

/** A time of work as people say it: 42s, 3m05s, 2h10m. */
export function durationText(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  const two = (part: number) => String(part).padStart(2, "0");
  if (whole < 60) return `${whole}s`;
  if (whole < 3_600) return `${Math.floor(whole / 60)}m${two(whole % 60)}s`;
  return `${Math.floor(whole / 3_600)}h${two(Math.floor((whole % 3_600) / 60))}m`;
}

function numberAt(value: unknown, ...path: string[]): number | undefined {
  const found = path.reduce<unknown>(
    (node, key) =>
      typeof node === "object" && node !== null ? Object.entries(node).find(([name]) => name === key)?.[1] : undefined,
    value,
  );
  return typeof found === "number" ? found : undefined;
}
