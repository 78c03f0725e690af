import { getCondition } from "../../api/v1alpha1/conditions.ts";
import { GONE_MESSAGE } from "../../submission/settle.ts";
import type { Shared } from "../shared.ts";
import type { Answer } from "./submit.ts";
import type { Job, JobStatus } from "./types.ts";

/** Emits the events for what a status write has changed. `job`: the object before the write. */
export function announce({ recorder }: Pick<Shared, "recorder">, job: Job, status: JobStatus | undefined): void {
  if (status === undefined) return;
  const before = job.status;
  const { phase, taskID } = status;
  if (taskID !== undefined && taskID !== before?.taskID) {
    recorder.event(job, "Normal", "Submitted", "Submit", `Task ${taskID}, attempt ${status.attempts}`);
  }
  const failed = (status.failedTasks ?? 0) > (before?.failedTasks ?? 0);
  const { submission } = status;
  const shownBefore = submission?.id === before?.submission?.id && submission?.state === before?.submission?.state;
  const again = phase === "Pending" && submission?.state === "Unknown" && !shownBefore;
  if (phase === "Pending" && (failed || again)) {
    const ready = getCondition(status.conditions, "Ready");
    recorder.event(job, "Warning", ready?.reason ?? phase, "Submit", ready?.message ?? phase);
  }
  const stalled = getCondition(status.conditions, "Stalled");
  if (phase === before?.phase) {
    const known = getCondition(before?.conditions ?? [], "Stalled")?.reason;
    // The message of a copy changes with each attempt, so an event is due only for a new reason.
    if (phase === "Storing" && stalled !== undefined && stalled.reason !== known) {
      recorder.event(job, "Warning", stalled.reason, "Store", stalled.message);
    }
    return;
  }
  if (phase === "Succeeded") {
    recorder.event(job, "Normal", "Completed", "Poll", getCondition(status.conditions, "Complete")?.message ?? phase);
  } else if (phase === "Storing") {
    recorder.event(job, "Normal", "Storing", "Store", "The task has succeeded; copying the results to the store");
  } else if (phase === "Failed" || phase === "Halted") {
    recorder.event(job, "Warning", stalled?.reason ?? phase, "Submit", stalled?.message ?? phase);
  }
}

/** Warns when a deleted job may still be charged. `answer`: the response that arrived after the deletion. */
export function announceDeleted(
  { recorder, log }: Pick<Shared, "recorder" | "log">,
  job: Job,
  answer: Answer | undefined,
): void {
  const { status } = job;
  const submitted = status?.submission?.state;
  const task = answer?.kind === "Accepted" && "taskID" in answer.accepted ? answer.accepted.taskID : status?.taskID;
  if (task !== undefined && (answer?.kind === "Accepted" || submitted === "Accepted") && status?.phase !== "Storing") {
    const note = `Deleted after it was submitted: task ${task} continues at the service and is charged`;
    recorder.event(job, "Warning", "TaskRunsOn", "Delete", note);
  } else if (answer?.kind === "Unknown" || answer?.kind === "Accepted" || submitted === "Unknown") {
    const note = "Deleted after its request was sent: it may be charged, and its result is lost";
    recorder.event(job, "Warning", "TaskRunsOn", "Delete", note);
  }
  if (answer?.kind === "Unknown" || answer?.kind === "Accepted") log.warn({ ...answer.entry }, GONE_MESSAGE);
}
