import { getCondition } from "../../api/v1alpha1/conditions.ts";
import { ANNOTATIONS } from "../../api/v1alpha1/meta.ts";
import { rfc3339 } from "../../clock.ts";
import type { Observation } from "./observations.ts";
import type { JobContext, Step } from "./steps.ts";
import type { Job } from "./types.ts";

/** Re-check interval for a task that cannot be attached, because no event announces that it can. */
const RETRY_MS = 30_000;
/** The same for a task that the service does not know, that is another one, or that another object has. */
const PERMANENT_RETRY_MS = 5 * 60_000;

/** The job follows the task from now on, as if the response to its request had shown the task. */
export function attach({ taskID, account, submission }: Observation<"Attachable">, { job, now }: JobContext): Step {
  return {
    outcome: { phase: "Active", result: undefined, attached: taskID },
    written: {
      taskID,
      account,
      submission: { ...submission, state: "Accepted", time: rfc3339(now) },
      submitTime: submission.time,
      firstSubmitTime: job.status?.firstSubmitTime ?? submission.time,
      lastHandledAttachTask: taskID,
    },
  };
}

/** The message of the halt stays: its options remain. */
export function showNotAttached({ reason, message, permanent }: Observation<"NotAttached">, { job }: JobContext): Step {
  const advice = `set ${ANNOTATIONS.attachTask} to the ID of another task, or remove the annotation`;
  const notAttached = { reason, message: permanent ? `${message}: ${advice}` : message };
  return {
    outcome: { phase: "Halted", message: haltMessageOf(job), notAttached },
    againMs: permanent ? PERMANENT_RETRY_MS : RETRY_MS,
  };
}

export function showHalted({ outdated }: Observation<"Unreleased">, { job }: JobContext): Step {
  return outdated ? { outcome: { phase: "Halted", message: haltMessageOf(job) } } : {};
}

function haltMessageOf({ status }: Job): string {
  return getCondition(status?.conditions, "Stalled")?.message ?? "The outcome of the request is unknown";
}
