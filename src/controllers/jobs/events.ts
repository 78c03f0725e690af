import { getCondition, isTrue } from "../../api/v1alpha1/conditions.ts";
import { ANNOTATIONS } from "../../api/v1alpha1/meta.ts";
import { keyOf } from "../../runtime/store.ts";
import type { ControllerDeps } from "../controller-deps.ts";
import { failingStage } from "./tasks.ts";
import type { Answer, Job, JobStatus } from "./types.ts";

/** Emits the events for what a status write has changed. `job`: the object before the write. */
export function announce(
  { recorder }: Pick<ControllerDeps, "recorder">,
  job: Job,
  status: JobStatus | undefined,
): void {
  if (status === undefined) return;
  const before = job.status;
  const { phase, taskID, lastHandledResubmitToken: token } = status;
  announceAttachment(recorder, job, status);
  if (before?.phase === "Halted" && token !== before.lastHandledResubmitToken) {
    const note = `Released by the annotation ${ANNOTATIONS.resubmitToken}: the request is sent again, and may be paid for twice`;
    recorder.normal(job, "Released", "Submit", note);
  }
  const attached = isTrue(status.conditions, "TaskAttached");
  if (taskID !== undefined && taskID !== before?.taskID && !attached) {
    recorder.normal(job, "Submitted", "Submit", `Task ${taskID}, attempt ${status.attempts}`);
  }
  const failed = (status.failedTasks ?? 0) > (before?.failedTasks ?? 0);
  const { submission } = status;
  const shownBefore = submission?.id === before?.submission?.id && submission?.state === before?.submission?.state;
  const again = phase === "Pending" && submission?.state === "Unknown" && !shownBefore;
  if (phase === "Pending" && (failed || again)) {
    const ready = getCondition(status.conditions, "Ready");
    recorder.warning(job, ready?.reason ?? phase, "Submit", ready?.message ?? phase);
  }
  const stalled = getCondition(status.conditions, "Stalled");
  if (phase === before?.phase) {
    const known = getCondition(before?.conditions ?? [], "Stalled")?.reason;
    // The message of a copy changes with each attempt, so an event is due only for a new reason.
    if (phase === "Storing" && stalled !== undefined && stalled.reason !== known) {
      recorder.warning(job, stalled.reason, "Store", stalled.message);
    }
    announceFailingPolls(recorder, job, status);
    return;
  }
  if (phase === "Succeeded") {
    recorder.normal(job, "Completed", "Poll", getCondition(status.conditions, "Complete")?.message ?? phase);
  } else if (phase === "Storing") {
    recorder.normal(job, "Storing", "Store", "The task has succeeded; copying the results to the store");
  } else if (phase === "Failed" || phase === "Halted") {
    recorder.warning(job, stalled?.reason ?? phase, "Submit", stalled?.message ?? phase);
  }
}

/** Tells whether the task that the annotation names was attached, once for each reason. */
function announceAttachment(recorder: ControllerDeps["recorder"], job: Job, status: JobStatus): void {
  const before = getCondition(job.status?.conditions, "TaskAttached");
  const after = getCondition(status.conditions, "TaskAttached");
  if (after === undefined || (after.reason === before?.reason && after.message === before?.message)) return;
  const message = after.message ?? "";
  if (after.status === "True") recorder.normal(job, "Attached", "Attach", message);
  else recorder.warning(job, after.reason ?? after.type, "Attach", message);
}

/** Warns when polls begin to fail, fail for another reason, or cost the job its slot. */
function announceFailingPolls(recorder: ControllerDeps["recorder"], job: Job, status: JobStatus): void {
  const stage = failingStage(status);
  if (stage === undefined || stage === failingStage(job.status)) return;
  const ready = getCondition(status.conditions, "Ready");
  if (ready !== undefined) recorder.warning(job, ready.reason ?? stage, "Poll", ready.message ?? stage);
}

/**
 * Warns when a deleted job may still be charged. `answer`: the response that arrived after the deletion. settleGone logs the
 * journal entry of that response.
 */
export function announceDeleted(
  { recorder, log }: Pick<ControllerDeps, "recorder" | "log">,
  job: Job,
  answer: Answer | undefined,
): void {
  const note = deletionNote(job, answer);
  if (note === undefined) return;
  recorder.warning(job, "TaskRunsOn", "Delete", note);
  if (answer === undefined) log.warn({ kind: job.kind, key: keyOf(job), uid: job.metadata.uid }, note);
}

function deletionNote({ status }: Job, answer: Answer | undefined): string | undefined {
  const submitted = status?.submission?.state;
  const task = answer?.kind === "Accepted" && "taskID" in answer.accepted ? answer.accepted.taskID : status?.taskID;
  if (task !== undefined && (answer?.kind === "Accepted" || submitted === "Accepted") && status?.phase !== "Storing") {
    return `Deleted after it was submitted: task ${task} continues at the service and is charged`;
  }
  if (answer?.kind === "Unknown" || answer?.kind === "Accepted" || submitted === "Unknown") {
    return "Deleted after its request was sent: it may be charged, and its result is lost";
  }
  return undefined;
}
