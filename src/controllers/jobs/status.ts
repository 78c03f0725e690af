import { type ConditionUpdate, isTrue, removeCondition, setConditions } from "../../api/conditions.ts";
import { formatDuration } from "../../api/duration.ts";
import type { JobPhase, JobResult } from "../../api/job.ts";
import type { Reason } from "../../api/reasons.ts";
import { rfc3339 } from "../../clock.ts";
import { type ResultKind, resultsOf, type TaskOutput, type TaskResult } from "../../service/task-result.ts";
import { TASK_STATUS } from "./machine.ts";
import type { Job, JobStatus } from "./types.ts";

/** What a reconcile came to: all that the status is computed from. */
export type JobOutcome =
  | { phase: "Pending"; reason: Reason; message: string; stalled: boolean }
  | { phase: "Suspended" }
  | { phase: "Halted"; message: string }
  | { phase: "Active"; result: TaskResult | undefined; note?: { reason: Reason; message: string } }
  | { phase: "Succeeded"; result: TaskResult | undefined; results: JobResult[] }
  | { phase: "Failed"; reason: Reason; message: string; result: TaskResult | undefined };

/** Without a life of its own, a URL is taken to work for a day (interface: "Speech URL validity: 24 hours"). */
const DEFAULT_TTL_SECONDS = 24 * 3600;

/** `at`: when the service returned the URLs, ms since the epoch. */
export function jobResults(outputs: ({ kind: ResultKind } & TaskOutput)[], at: number): JobResult[] {
  return outputs.map(({ kind, url, type, ttlSeconds }) => ({
    kind,
    url,
    type,
    expiresAt: rfc3339(at + (ttlSeconds ?? DEFAULT_TTL_SECONDS) * 1000),
  }));
}

export function resultsFrom(result: TaskResult, at: number): JobResult[] {
  return jobResults(resultsOf(result), at);
}

/** The whole status after a reconcile. Pure. */
export function jobStatusOf(job: Job, written: Partial<JobStatus>, outcome: JobOutcome, now: number): JobStatus {
  const previous: JobStatus = { ...(job.status ?? { conditions: [] }), ...written };
  const time = rfc3339(now);
  const { generation } = job.metadata;
  const status: JobStatus = {
    ...previous,
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    startTime: previous.startTime ?? time,
    phase: phaseOf(previous, outcome),
    ...("result" in outcome && outcome.result !== undefined ? taskFields(outcome.result) : {}),
  };
  if (outcome.phase === "Succeeded") {
    status.results = outcome.results;
    const expiries = outcome.results.flatMap(({ expiresAt }) => expiresAt ?? []).sort();
    if (expiries[0] !== undefined) status.resultsExpireAt = expiries[0];
    delete status.etaSeconds;
  }
  if (outcome.phase === "Succeeded" || outcome.phase === "Failed") {
    status.completionTime = previous.completionTime ?? time;
    status.duration = formatDuration(Date.parse(status.completionTime) - Date.parse(status.startTime ?? time));
  }
  const updates = conditions(job, status, outcome).map((update) => ({ ...update, observedGeneration: generation }));
  const cleared = removeCondition(removeCondition(previous.conditions, "Reconciling"), "Stalled");
  const kept = updates.some(({ type }) => type === "Reconciling" || type === "Stalled") ? previous.conditions : cleared;
  status.conditions = setConditions(kept, updates, time);
  return status;
}

function phaseOf(previous: JobStatus, outcome: JobOutcome): JobPhase {
  if (outcome.phase === "Suspended") return "Pending";
  if (outcome.phase !== "Active") return outcome.phase;
  const remote = outcome.result?.task.status;
  if (remote === TASK_STATUS.processing || (outcome.result?.task.progressPercent ?? 0) > 0) return "Running";
  // A status that is not known here says nothing about the phase: it is shown as it is.
  return previous.phase === "Running" && remote !== TASK_STATUS.queued ? "Running" : "Queued";
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

function conditions(job: Job, status: JobStatus, outcome: JobOutcome): ConditionUpdate[] {
  const { taskID } = status;
  const suspended = suspendedCondition(job, outcome);
  switch (outcome.phase) {
    case "Pending": {
      const { reason, message } = outcome;
      return outcome.stalled
        ? [...suspended, { type: "Stalled", status: "True", reason, message }]
        : [
            ...suspended,
            { type: "Ready", status: "False", reason, message },
            { type: "Reconciling", status: "True", reason, message },
          ];
    }
    case "Suspended":
      return [
        ...suspended,
        {
          type: "Ready",
          status: "False",
          reason: "Suspended",
          message: "spec.suspend is true: set it to false to submit the job",
        },
      ];
    case "Halted":
      return [...suspended, { type: "Stalled", status: "True", reason: "SubmissionUnknown", message: outcome.message }];
    case "Active": {
      const reason: Reason = outcome.note?.reason ?? (status.phase === "Running" ? "Running" : "Queued");
      const progress = status.progressPercent === undefined ? "" : `, ${status.progressPercent} %`;
      const message = outcome.note?.message ?? `Task ${taskID} is ${status.remoteStatus ?? "submitted"}${progress}`;
      return [
        ...suspended,
        { type: "Ready", status: "False", reason, message },
        { type: "Reconciling", status: "True", reason, message },
      ];
    }
    case "Succeeded": {
      const message = `${outcome.results.length} result${outcome.results.length === 1 ? "" : "s"}, to be fetched until ${status.resultsExpireAt}`;
      return [
        ...suspended,
        { type: "Complete", status: "True", reason: "Completed", message },
        { type: "ResultsAvailable", status: "True", reason: "Available", message },
        { type: "Ready", status: "True", reason: "Completed", message },
      ];
    }
    case "Failed": {
      const { reason, message } = outcome;
      return [
        ...suspended,
        { type: "Failed", status: "True", reason, message },
        { type: "Stalled", status: "True", reason, message },
      ];
    }
  }
}

function suspendedCondition(job: Job, outcome: JobOutcome): ConditionUpdate[] {
  if (outcome.phase === "Suspended") {
    return [
      { type: "Suspended", status: "True", reason: "Suspended", message: "Nothing is sent while spec.suspend is true" },
    ];
  }
  if (job.spec.suspend && outcome.phase === "Active") {
    return [
      {
        type: "Suspended",
        status: "False",
        reason: "AlreadySubmitted",
        message: "The task was submitted before; the service cannot stop it",
      },
    ];
  }
  if (!job.spec.suspend && isTrue(job.status?.conditions, "Suspended")) {
    return [{ type: "Suspended", status: "False", reason: "Resumed", message: "spec.suspend is false" }];
  }
  return [];
}

/** Once the URLs have run out and no copy was kept, the status says so. Pure; undefined when nothing changes. */
export function expireResults(status: JobStatus, now: number): JobStatus | undefined {
  if (!isTrue(status.conditions, "ResultsAvailable") || status.resultsExpireAt === undefined) return undefined;
  if (Date.parse(status.resultsExpireAt) > now) return undefined;
  const update: ConditionUpdate = {
    type: "ResultsAvailable",
    status: "False",
    reason: "Expired",
    message: `The URLs ran out at ${status.resultsExpireAt} and no copy was kept`,
    observedGeneration: status.observedGeneration,
  };
  return { ...status, conditions: setConditions(status.conditions, [update], rfc3339(now)) };
}
