import { formatDuration } from "../../api/schema/duration.ts";
import { type ConditionUpdate, cut, getCondition, isTrue, removeCondition } from "../../api/v1alpha1/conditions.ts";
import { type JobPhase, type JobResult, type PhaseStart, TIMELINE_LIMIT } from "../../api/v1alpha1/job.ts";
import { ANNOTATIONS } from "../../api/v1alpha1/meta.ts";
import type { Reason } from "../../api/v1alpha1/reasons.ts";
import { rfc3339, rfc3339Milli } from "../../base/clock.ts";
import type { TaskResult } from "../../provider/tasks/task-result.ts";
import { nextAttempt } from "../../submission/record.ts";
import { mergeConditions, stalledCondition, waitingConditions } from "../report.ts";
import type { Cause } from "../verdict.ts";
import type { Job, JobStatus } from "./types.ts";

/** The outcome of a reconcile, from which the status is computed. */
export type JobOutcome =
  | { phase: "Pending"; reason: Reason; message: string; stalled: boolean }
  | { phase: "Suspended" }
  | { phase: "Submitting" }
  /** `notAttached`: why the job is not attached to the task that the annotation names. */
  | { phase: "Halted"; reason: Reason; message: string; notAttached?: Cause }
  /** `attached`: the task that the annotation has just attached. */
  | {
      phase: "Active";
      result: TaskResult | undefined;
      note?: Cause & { stalled: boolean };
      attached?: string;
    }
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

/** What a reconcile changes besides the outcome. `cleared` fields are removed first, then `written` ones are set. */
export type StatusChange = {
  written?: Partial<JobStatus> | undefined;
  cleared?: readonly (keyof JobStatus)[] | undefined;
};

/** The whole status after a reconcile. `now`: ms since the epoch. */
export function jobStatusOf(job: Job, change: StatusChange, outcome: JobOutcome, now: number): JobStatus {
  const remaining: JobStatus = { ...(job.status ?? { conditions: [] }) };
  for (const field of change.cleared ?? []) delete remaining[field];
  const previous: JobStatus = { ...remaining, ...change.written };
  const time = rfc3339(now);
  const { generation } = job.metadata;
  const status: JobStatus = {
    ...previous,
    observedGeneration: generation,
    // A record that the API server did not store at once is older than the status that shows it.
    startTime: previous.startTime ?? previous.submission?.time ?? time,
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
  const known = tellsOfAttachment(previous, outcome)
    ? previous.conditions
    : removeCondition(previous.conditions, "TaskAttached");
  status.conditions = mergeConditions(known, jobConditions(job, status, outcome), job.metadata, now);
  status.timeline = timelineOf(job.status, status, outcome.phase === "Suspended", now);
  return status;
}

/** The condition TaskAttached stays with the task that it is about, and while the one that the annotation names cannot be attached. */
function tellsOfAttachment({ conditions }: JobStatus, outcome: JobOutcome): boolean {
  if (outcome.phase === "Halted") return outcome.notAttached !== undefined;
  return isTrue(conditions, "TaskAttached") && ["Active", "Storing", "Succeeded", "Failed"].includes(outcome.phase);
}

function phaseOf(previous: JobStatus, outcome: JobOutcome): JobPhase {
  if (outcome.phase === "Suspended") return "Pending";
  if (outcome.phase !== "Active") return outcome.phase;
  const remote = outcome.result?.task.state;
  if (remote === "Running" || remote === "Succeeded" || (outcome.result?.task.progressPercent ?? 0) > 0)
    return "Running";
  // An unknown remote status does not change the phase.
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

/** The conditions for an outcome. `status` has all other fields already. */
function jobConditions(job: Job, status: JobStatus, outcome: JobOutcome): ConditionUpdate[] {
  return [...suspended(job, outcome), ...conditionsOf(job, status, outcome)];
}

function conditionsOf(job: Job, status: JobStatus, outcome: JobOutcome): ConditionUpdate[] {
  switch (outcome.phase) {
    case "Pending": {
      const { reason, message } = outcome;
      return outcome.stalled ? [stalledCondition({ reason, message })] : waitingConditions({ reason, message });
    }
    case "Suspended": {
      const message = "spec.suspend is true: set it to false to submit the job";
      return [{ type: "Ready", status: "False", reason: "Suspended", message }];
    }
    case "Submitting":
      return waitingConditions({ reason: "Submitting", message: "The request is sent; waiting for the response" });
    case "Halted":
      return [
        ...(outcome.notAttached === undefined
          ? []
          : [{ type: "TaskAttached", status: "False", ...outcome.notAttached } as const]),
        stalledCondition({ reason: outcome.reason, message: outcome.message }),
      ];
    case "Active": {
      const { note, attached } = outcome;
      if (note?.stalled === true) return [stalledCondition(note)];
      const reason: Reason = note?.reason ?? (status.phase === "Running" ? "Running" : "Queued");
      const progress = status.progressPercent === undefined ? "" : `, ${status.progressPercent} %`;
      const message = note?.message ?? `Task ${status.taskID} is ${status.remoteStatus ?? "submitted"}${progress}`;
      return [
        ...(attached === undefined ? [] : [attachedCondition(attached)]),
        ...waitingConditions({ reason, message }),
      ];
    }
    case "Storing":
      return [
        { type: "ResultsAvailable", status: "True", reason: "Available", message: availability(status) },
        ...(outcome.stalled ? [stalledCondition(outcome)] : waitingConditions(outcome)),
      ];
    case "Succeeded": {
      const stored = allStored(outcome.results);
      const place = stored ? `stored at ${outcome.results[0]?.artifact?.uri}` : availability(status);
      const origin = status.reused === undefined ? "" : `, made by ${status.reused.from} for the same request`;
      const message = `${count(outcome.results)}${omission(outcome.result)}; ${place}${origin}`;
      return [
        { type: "Complete", status: "True", reason: "Completed", message },
        { type: "ResultsAvailable", status: "True", reason: stored ? "Stored" : "Available", message },
        { type: "Ready", status: "True", reason: "Completed", message },
      ];
    }
    case "Failed": {
      const { reason, message } = outcome;
      // The results expired before they were copied.
      const lost = isTrue(job.status?.conditions, "ResultsAvailable");
      return [
        ...(lost ? [{ type: "ResultsAvailable", status: "False", reason: "Expired", message } as const] : []),
        { type: "Failed", status: "True", reason, message },
        stalledCondition({ reason, message }),
      ];
    }
  }
}

function attachedCondition(taskID: string): ConditionUpdate {
  const message = `The annotation ${ANNOTATIONS.attachTask} attached task ${taskID}; no request was sent`;
  return { type: "TaskAttached", status: "True", reason: "Attached", message };
}

/** Whether every result is in a store. */
export function allStored(results: readonly JobResult[] | undefined): boolean {
  return results !== undefined && results.length > 0 && results.every(({ artifact }) => artifact !== undefined);
}

const count = ({ length }: readonly JobResult[]) => `${length} result${length === 1 ? "" : "s"}`;
const omission = (result: TaskResult | undefined) =>
  result?.omitted === undefined
    ? ""
    : ` (the service returned ${result.omitted} more, which cannot be stored in the status)`;
function availability({ resultsExpireAt, results = [] }: JobStatus): string {
  const [refused] = results.flatMap(({ address }) => address ?? []);
  if (refused === undefined) return `the URL expires at ${resultsExpireAt}`;
  return `${cut(refused, LONGEST_ADDRESS)} is not a URL that the account may read from: see status.results[].address`;
}

/** Characters of an address in a message. */
const LONGEST_ADDRESS = 200;

function suspended(job: Job, outcome: JobOutcome): ConditionUpdate[] {
  if (outcome.phase === "Suspended") {
    const message = "Nothing is sent while spec.suspend is true";
    return [{ type: "Suspended", status: "True", reason: "Suspended", message }];
  }
  if (job.spec.suspend && ["Submitting", "Active", "Storing"].includes(outcome.phase)) {
    const message = "The job was submitted before; the service cannot stop it";
    return [{ type: "Suspended", status: "False", reason: "AlreadySubmitted", message }];
  }
  if (!job.spec.suspend && isTrue(job.status?.conditions, "Suspended")) {
    return [{ type: "Suspended", status: "False", reason: "Resumed", message: "spec.suspend is false" }];
  }
  return [];
}

/**
 * `status.timeline` after a reconcile: an entry is added when the phase or the attempt changes. Pure. The times never go back, even
 * when the clock of another process is behind.
 * @param previous the status before
 * @param status the status to write, with its conditions
 * @param suspended the job waits because of `spec.suspend`, whatever its last request shows
 * @param now ms since the epoch
 */
export function timelineOf(
  previous: JobStatus | undefined,
  status: JobStatus,
  suspended: boolean,
  now: number,
): PhaseStart[] {
  const timeline = previous?.timeline ?? [];
  const { submission, conditions, phase: shown = "Pending" } = status;
  // A task of which the API server refused every status but the one after it.
  const taskID = status.taskID ?? previous?.taskID;
  const intended = shown === "Pending" && submission?.state === "Intended" && !suspended;
  const phase = intended ? "Submitting" : shown;
  const last = timeline.at(-1);
  // A job can end while it waits for its next attempt.
  const of = phase === "Pending" ? nextAttempt(submission) : (submission?.attempt ?? 1);
  const attempt = Math.max(of, last?.attempt ?? 1);
  if (last?.phase === phase && last.attempt === attempt) return timeline;

  const known = timeline.some((entry) => entry.taskID === taskID);
  const reason = getCondition(conditions, "Ready")?.reason;
  const entry: PhaseStart = {
    phase,
    attempt,
    ...(reason === undefined ? {} : { reason }),
    ...(taskID === undefined || known ? {} : { taskID }),
    time: rfc3339Milli(Math.max(now, last === undefined ? now : Date.parse(last.time))),
  };
  return bounded([...timeline, entry]);
}

/** The first entry shows when the job began. Of the others, the latest matter most. */
function bounded(timeline: PhaseStart[]): PhaseStart[] {
  const [first, ...others] = timeline;
  if (first === undefined || timeline.length <= TIMELINE_LIMIT) return timeline;
  return [first, ...others.slice(timeline.length - TIMELINE_LIMIT)];
}
