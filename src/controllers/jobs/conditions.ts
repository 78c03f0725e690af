import { type ConditionUpdate, isTrue } from "../../api/v1alpha1/conditions.ts";
import type { JobResult } from "../../api/v1alpha1/job.ts";
import type { Reason } from "../../api/v1alpha1/reasons.ts";
import type { JobOutcome } from "./status.ts";
import type { Job, JobStatus } from "./types.ts";

/** The conditions of a job that came to `outcome`; `status` has its other fields already. Pure. */
export function jobConditions(job: Job, status: JobStatus, outcome: JobOutcome): ConditionUpdate[] {
  return [...suspended(job, outcome), ...conditionsOf(job, status, outcome)];
}

function conditionsOf(job: Job, status: JobStatus, outcome: JobOutcome): ConditionUpdate[] {
  switch (outcome.phase) {
    case "Pending": {
      const { reason, message } = outcome;
      return outcome.stalled ? [stalled(reason, message)] : inProgress(reason, message);
    }
    case "Suspended": {
      const message = "spec.suspend is true: set it to false to submit the job";
      return [{ type: "Ready", status: "False", reason: "Suspended", message }];
    }
    case "Submitting":
      return inProgress("Submitting", "The request is with the service, and its answer is awaited");
    case "Halted":
      return [stalled("SubmissionUnknown", outcome.message)];
    case "Active": {
      const { note } = outcome;
      if (note?.stalled === true) return [stalled(note.reason, note.message)];
      const reason: Reason = note?.reason ?? (status.phase === "Running" ? "Running" : "Queued");
      const progress = status.progressPercent === undefined ? "" : `, ${status.progressPercent} %`;
      return inProgress(
        reason,
        note?.message ?? `Task ${status.taskID} is ${status.remoteStatus ?? "submitted"}${progress}`,
      );
    }
    case "Storing":
      return [
        { type: "ResultsAvailable", status: "True", reason: "Available", message: fetchUntil(status) },
        ...(outcome.stalled ? [stalled(outcome.reason, outcome.message)] : inProgress(outcome.reason, outcome.message)),
      ];
    case "Succeeded": {
      const kept = allStored(outcome.results);
      const message = `${count(outcome.results)}, ${kept ? `kept at ${outcome.results[0]?.artifact?.uri}` : fetchUntil(status)}`;
      return [
        { type: "Complete", status: "True", reason: "Completed", message },
        { type: "ResultsAvailable", status: "True", reason: kept ? "Stored" : "Available", message },
        { type: "Ready", status: "True", reason: "Completed", message },
      ];
    }
    case "Failed": {
      const { reason, message } = outcome;
      // What was to be copied and is lost cannot be fetched from anywhere.
      const gone = isTrue(job.status?.conditions, "ResultsAvailable");
      return [
        ...(gone ? [{ type: "ResultsAvailable", status: "False", reason: "Expired", message } as const] : []),
        { type: "Failed", status: "True", reason, message },
        stalled(reason, message),
      ];
    }
  }
}

/** Whether every result lies in a store, so that its URL does not matter any more. */
export function allStored(results: readonly JobResult[] | undefined): boolean {
  return results !== undefined && results.length > 0 && results.every(({ artifact }) => artifact !== undefined);
}

const count = ({ length }: readonly JobResult[]) => `${length} result${length === 1 ? "" : "s"}`;
const fetchUntil = ({ resultsExpireAt }: JobStatus) => `to be fetched until ${resultsExpireAt}`;

function stalled(reason: Reason, message: string): ConditionUpdate {
  return { type: "Stalled", status: "True", reason, message };
}

function inProgress(reason: Reason, message: string): ConditionUpdate[] {
  return [
    { type: "Ready", status: "False", reason, message },
    { type: "Reconciling", status: "True", reason, message },
  ];
}

function suspended(job: Job, outcome: JobOutcome): ConditionUpdate[] {
  if (outcome.phase === "Suspended") {
    const message = "Nothing is sent while spec.suspend is true";
    return [{ type: "Suspended", status: "True", reason: "Suspended", message }];
  }
  if (job.spec.suspend && ["Submitting", "Active", "Storing"].includes(outcome.phase)) {
    const message = "It was submitted before; the service cannot stop it";
    return [{ type: "Suspended", status: "False", reason: "AlreadySubmitted", message }];
  }
  if (!job.spec.suspend && isTrue(job.status?.conditions, "Suspended")) {
    return [{ type: "Suspended", status: "False", reason: "Resumed", message: "spec.suspend is false" }];
  }
  return [];
}
