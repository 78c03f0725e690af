import { removeCondition, setConditions } from "../../api/v1alpha1/conditions.ts";
import { formatDuration } from "../../api/v1alpha1/duration.ts";
import type { JobPhase, JobResult } from "../../api/v1alpha1/job.ts";
import type { Reason } from "../../api/v1alpha1/reasons.ts";
import { rfc3339 } from "../../clock.ts";
import type { TaskResult } from "../../provider/tasks/task-result.ts";
import { jobConditions } from "./conditions.ts";
import type { Job, JobStatus } from "./types.ts";

/** What a reconcile came to: all that the status is computed from. */
export type JobOutcome =
  | { phase: "Pending"; reason: Reason; message: string; stalled: boolean }
  | { phase: "Suspended" }
  | { phase: "Submitting" }
  | { phase: "Halted"; message: string }
  | { phase: "Active"; result: TaskResult | undefined; note?: { reason: Reason; message: string; stalled: boolean } }
  | {
      phase: "Storing";
      result: TaskResult | undefined;
      results: JobResult[];
      reason: Reason;
      message: string;
      stalled: boolean;
    }
  | { phase: "Succeeded"; result: TaskResult | undefined; results: JobResult[] }
  | { phase: "Failed"; reason: Reason; message: string; result: TaskResult | undefined };

/** What a reconcile changes beside the outcome: fields that go, and then fields that come. */
export type StatusChange = {
  written?: Partial<JobStatus> | undefined;
  cleared?: readonly (keyof JobStatus)[] | undefined;
};

/** The whole status after a reconcile. Pure; `now` in ms since the epoch. */
export function jobStatusOf(job: Job, change: StatusChange, outcome: JobOutcome, now: number): JobStatus {
  const kept: JobStatus = { ...(job.status ?? { conditions: [] }) };
  for (const field of change.cleared ?? []) delete kept[field];
  const previous: JobStatus = { ...kept, ...change.written };
  const time = rfc3339(now);
  const { generation } = job.metadata;
  const status: JobStatus = {
    ...previous,
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    startTime: previous.startTime ?? time,
    phase: phaseOf(previous, outcome),
    ...("result" in outcome && outcome.result !== undefined ? taskFields(outcome.result) : {}),
  };
  if (outcome.phase === "Succeeded" || outcome.phase === "Storing") {
    status.results = outcome.results;
    const expiries = outcome.results.flatMap(({ expiresAt }) => expiresAt ?? []).sort();
    if (expiries[0] !== undefined) status.resultsExpireAt = expiries[0];
    delete status.etaSeconds;
  }
  if (outcome.phase === "Succeeded" || outcome.phase === "Failed") {
    status.completionTime = previous.completionTime ?? time;
    status.duration = formatDuration(Date.parse(status.completionTime) - Date.parse(status.startTime ?? time));
  }
  const updates = jobConditions(job, status, outcome).map((update) => ({ ...update, observedGeneration: generation }));
  const cleared = removeCondition(removeCondition(previous.conditions, "Reconciling"), "Stalled");
  const stands = updates.some(({ type }) => type === "Reconciling" || type === "Stalled");
  status.conditions = setConditions(stands ? previous.conditions : cleared, updates, time);
  return status;
}

function phaseOf(previous: JobStatus, outcome: JobOutcome): JobPhase {
  if (outcome.phase === "Suspended") return "Pending";
  if (outcome.phase !== "Active") return outcome.phase;
  const remote = outcome.result?.task.state;
  if (remote === "Running" || (outcome.result?.task.progressPercent ?? 0) > 0) return "Running";
  // A status that is not known here says nothing about the phase: it is shown as it is.
  return previous.phase === "Running" && remote !== "Queued" ? "Running" : "Queued";
}

function taskFields({ task }: TaskResult): Partial<JobStatus> {
  return {
    remoteStatus: task.status,
    ...(task.taskType === "" ? {} : { taskType: task.taskType }),
    ...(task.reason === "" ? {} : { reason: task.reason }),
    ...(task.progressPercent === undefined
      ? {}
      : { progressPercent: Math.min(100, Math.max(0, Math.round(task.progressPercent))) }),
    ...(task.eta === undefined || task.eta < 0 ? {} : { etaSeconds: Math.round(task.eta) }),
  };
}
