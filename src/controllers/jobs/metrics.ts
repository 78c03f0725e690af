import { Gauge, type Registry } from "prom-client";
import { type JobPhase, jobPhases } from "../../api/v1alpha1/job.ts";

type Job = { status?: { phase?: JobPhase | undefined } | undefined };

/** Metrics over all jobs, without a series per job. `jobs`: the jobs of each kind, by the name of the kind. */
export function registerJobMetrics(registry: Registry, jobs: Readonly<Record<string, () => Iterable<Job>>>): void {
  new Gauge({
    name: "mooring_jobs",
    help: "Jobs by kind and phase; each job counts in one phase. Halted jobs wait for a user",
    labelNames: ["kind", "phase"],
    registers: [registry],
    collect() {
      for (const [kind, list] of Object.entries(jobs)) {
        const counts = new Map<JobPhase, number>();
        for (const { status } of list()) {
          const phase = status?.phase ?? "Pending";
          counts.set(phase, (counts.get(phase) ?? 0) + 1);
        }
        for (const phase of jobPhases) this.set({ kind, phase }, counts.get(phase) ?? 0);
      }
    },
  });
}
