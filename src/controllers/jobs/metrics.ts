import { Counter, Histogram, type Registry } from "prom-client";
import { isTrue } from "../../api/v1alpha1/conditions.ts";
import { type JobPhase, jobPhases } from "../../api/v1alpha1/job.ts";
import type { Clock } from "../../base/clock.ts";
import { addGauge, oncePerScrape } from "../../runtime/gauge.ts";
import { boundKey } from "../account/binding.ts";
import { type AccountKey, accountKey } from "../account/registry.ts";
import type { Job, JobMetrics } from "./types.ts";

export type JobMetricsOptions = {
  /** The jobs of each kind, by the name of the kind. */
  jobs: Readonly<Record<string, () => Iterable<Job>>>;
  /** The account that the job means; undefined: there is none. */
  accountOf: (job: Job) => AccountKey | undefined;
  clock: Pick<Clock, "now">;
  /** The trace of a job, for exemplars. Undefined: no traces are exported, and no exemplars are. */
  traceIDOf?: ((job: Job) => string) | undefined;
};

/** In seconds: from a short text to a queue of a day. */
const SECONDS = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 14_400, 86_400];

/** Metrics over all jobs, without a series per job. */
export function createJobMetrics(registry: Registry, options: JobMetricsOptions): JobMetrics {
  const { traceIDOf } = options;
  const registers = [registry];
  const read = oncePerScrape(() => readJobs(options));
  registerCounts(registry, read);
  const enableExemplars = traceIDOf !== undefined;
  const wait = new Histogram({
    name: "mooring_job_wait_seconds",
    help: "Time from the creation of a job to its first accepted request, by account and kind",
    labelNames: ["account", "kind"],
    buckets: SECONDS,
    enableExemplars,
    registers,
  });
  const duration = new Histogram({
    name: "mooring_job_duration_seconds",
    help: "Time from the creation of a job to its end, by account, kind and the phase that it ended in",
    labelNames: ["account", "kind", "phase"],
    buckets: SECONDS,
    enableExemplars,
    registers,
  });

  const reused = new Counter({
    name: "mooring_jobs_reused_total",
    help: "Jobs that took the results of the same request of another job and sent nothing, by kind",
    labelNames: ["kind"],
    registers,
  });

  function observe<T extends string>(
    histogram: Histogram<T>,
    labels: Readonly<Record<T, string>>,
    { job, until }: { job: Job; until: string },
  ): void {
    const seconds = secondsBetween(job.metadata.creationTimestamp, Date.parse(until));
    if (traceIDOf === undefined) histogram.observe(labels, seconds);
    // The type of prom-client allows only the metric's own labels on an exemplar.
    else histogram.observe({ labels, value: seconds, exemplarLabels: { trace_id: traceIDOf(job) } as never });
  }

  const callbacks = new Counter({
    name: "mooring_callback_attempts_total",
    help: "Attempts to deliver a callback, by account, kind and outcome (Delivered or Failed). Failed ones are repeated for a day",
    labelNames: ["account", "kind", "outcome"],
    registers,
  });

  return {
    called: (kind, job, outcome) => callbacks.inc({ account: boundKey(job) ?? "", kind, outcome }),
    moved(kind, job, status) {
      const { metadata, status: before } = job;
      const bound = status?.account;
      const account = bound === undefined ? "" : accountKey(bound.kind, bound.name, metadata.namespace);
      const { firstSubmitTime, completionTime, phase = "Pending" } = status ?? {};
      if (status?.reused !== undefined && before?.reused === undefined) reused.inc({ kind });
      if (firstSubmitTime !== undefined && before?.firstSubmitTime === undefined) {
        observe(wait, { account, kind }, { job, until: firstSubmitTime });
      }
      if (completionTime !== undefined && before?.completionTime === undefined) {
        observe(duration, { account, kind, phase }, { job, until: completionTime });
      }
    },
  };
}

type Waiting = { labels: { account: string; namespace: string }; seconds: number };
type Reading = {
  phases: { kind: string; counts: ReadonlyMap<JobPhase, number>; callbacks: number }[];
  waiting: Waiting[];
};

/** What a scrape shows of the jobs: one pass over all of them. */
function readJobs({ jobs, accountOf, clock }: JobMetricsOptions): Reading {
  const now = clock.now();
  const waiting: Waiting[] = [];
  const phases = Object.entries(jobs).map(([kind, list]) => {
    const counts = new Map<JobPhase, number>();
    let callbacks = 0;
    for (const job of list()) {
      const phase = job.status?.phase ?? "Pending";
      counts.set(phase, (counts.get(phase) ?? 0) + 1);
      if (job.status?.callback?.state === "Pending") callbacks++;
      if (!isWaiting(job)) continue;
      const { namespace, creationTimestamp } = job.metadata;
      const labels = { account: accountOf(job) ?? "", namespace };
      waiting.push({ labels, seconds: secondsBetween(creationTimestamp, now) });
    }
    return { kind, counts, callbacks };
  });
  return { phases, waiting };
}

function registerCounts(registry: Registry, read: () => Reading): void {
  addGauge(registry, {
    name: "mooring_jobs",
    help: "Jobs by kind and phase; each job counts in one phase. Halted jobs wait for a user",
    labelNames: ["kind", "phase"],
    read: () =>
      read().phases.flatMap(({ kind, counts }) => jobPhases.map((phase) => [{ kind, phase }, counts.get(phase) ?? 0])),
  });
  addGauge(registry, {
    name: "mooring_callbacks_pending",
    help: "Jobs that have ended and whose callback is not delivered yet, by kind",
    labelNames: ["kind"],
    read: () => read().phases.map(({ kind, callbacks }) => [{ kind }, callbacks]),
  });
  const labelNames = ["account", "namespace"] as const;
  addGauge(registry, {
    name: "mooring_namespace_jobs_waiting",
    help: "Jobs that no request was sent for yet, by account and namespace, without those that are suspended or need a user; absent when there is none",
    labelNames,
    combine: "Sum",
    read: () => read().waiting.map(({ labels }) => [labels, 1]),
  });
  addGauge(registry, {
    name: "mooring_namespace_jobs_waiting_oldest_seconds",
    help: "Time since the creation of the oldest job that mooring_namespace_jobs_waiting counts",
    labelNames,
    combine: "Max",
    read: () => read().waiting.map(({ labels, seconds }) => [labels, seconds]),
  });
}

/** Nothing was sent for the job yet, and no user keeps it from being sent. */
function isWaiting({ metadata, spec, status }: Job): boolean {
  const { phase = "Pending", firstSubmitTime, conditions } = status ?? {};
  const held = spec.suspend || spec.managedBy !== undefined || isTrue(conditions, "Stalled");
  return phase === "Pending" && firstSubmitTime === undefined && !held && metadata.deletionTimestamp === undefined;
}

function secondsBetween(start: string, end: number): number {
  return Math.max(0, end - Date.parse(start)) / 1000;
}
