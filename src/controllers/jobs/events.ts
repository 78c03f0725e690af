import { getCondition, isTrue } from "../../api/v1alpha1/conditions.ts";
import type { JobPhase } from "../../api/v1alpha1/job.ts";
import { ANNOTATIONS } from "../../api/v1alpha1/meta.ts";
import type { EmitEvent } from "../../runtime/recorder.ts";
import type { ControllerDeps } from "../controller-deps.ts";
import { isOfBatch } from "./batch-owner.ts";
import { failingStage } from "./tasks.ts";
import type { Job, JobStatus } from "./types.ts";
/** Emits the events for what a status write has changed. `job`: the object before the write. */
export function announce(
  { recorder }: Pick<ControllerDeps, "recorder">,
  job: Job,
  status: JobStatus | undefined,
): void {
  if (status === undefined) return;
  const before = job.status;
  const { phase, taskID, lastHandledResubmitToken: token } = status;
  // index.jsonl of a batch lists how each of its jobs ended.
  const usual: { normal: EmitEvent } = isOfBatch(job) ? { normal: () => {} } : recorder;
  announceAttachment(recorder, job, status);
  if (before?.phase === "Halted" && token !== before.lastHandledResubmitToken) {
    const note = `Released by the annotation ${ANNOTATIONS.resubmitToken}: the request is sent again, and may be paid for twice`;
    recorder.normal(job, "Released", "Submit", note);
  }
  const attached = isTrue(status.conditions, "TaskAttached");
  if (taskID !== undefined && taskID !== before?.taskID && !attached) {
    usual.normal(job, "Submitted", "Submit", `Task ${taskID}, attempt ${status.attempts}`);
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
  announceBlock(recorder, job, status);
  if (phase === before?.phase) {
    announceFailingPolls(recorder, job, status);
    return;
  }
  if (phase === "Succeeded") {
    usual.normal(job, "Completed", "Poll", getCondition(status.conditions, "Complete")?.message ?? phase);
  } else if (phase === "Storing") {
    usual.normal(job, "Storing", "Store", "The task has succeeded; copying the results to the store");
  } else if (phase === "Failed" || phase === "Halted") {
    recorder.warning(job, stalled?.reason ?? phase, "Submit", stalled?.message ?? phase);
  }
}

/** The action that a stalled job cannot do, by phase. Failed and Halted have events of their own. */
const BLOCKED_ACTIONS: Partial<Record<JobPhase, string>> = {
  Pending: "Submit",
  Queued: "Poll",
  Running: "Poll",
  Storing: "Store",
};

/** Warns when a job that is not over becomes Stalled, or for another reason: its message can change with each attempt. */
function announceBlock(recorder: ControllerDeps["recorder"], job: Job, status: JobStatus): void {
  const action = status.phase === undefined ? undefined : BLOCKED_ACTIONS[status.phase];
  const stalled = getCondition(status.conditions, "Stalled");
  if (action === undefined || stalled === undefined || failingStage(status) !== undefined) return;
  const known = getCondition(job.status?.conditions, "Stalled");
  if (stalled.reason !== known?.reason) recorder.warning(job, stalled.reason, action, stalled.message);
}

/** Reports whether the task that the annotation names was attached, once for each reason. */
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
