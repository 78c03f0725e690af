import { COMMANDS } from "../api/v1alpha1/commands.ts";
import { type Job, paidOperation } from "../controllers/jobs/types.ts";
import { objectState } from "./object-state.ts";
import { makesTask } from "./offers.ts";

export type Resolution = {
  object: string;
  operation: string;
  /** RFC 3339: when the request was sent, or when its outcome became unknown if the status does not show that. */
  requestTime: string;
  attempt: number;
  /** SubmissionUnknown or ResponseUnusable. */
  reason: string;
  message: string;
  /** Commands that decide. */
  decisions: { command: string; effect: string }[];
};

/** What is known of the request of a halted job, and the commands that decide about it. */
export function resolutionOf(kind: string, job: Job): Resolution {
  const { namespace, name } = job.metadata;
  const { message, reason } = objectState(job);
  const command = COMMANDS.resolve({ kind, namespace, name });
  const operation = paidOperation(job);
  const attach = { command: `${command} --task-id TASK_ID`, effect: "follow the task; sends nothing" };
  return {
    object: `${kind} ${namespace}/${name}`,
    operation,
    requestTime: requestTime(job),
    attempt: job.status?.submission?.attempt ?? 1,
    reason,
    message,
    decisions: [
      ...(makesTask(job) ? [attach] : []),
      { command: `${command} --resubmit`, effect: "send another request, which may be paid for twice" },
      { command: `${command} --give-up`, effect: "delete the job" },
    ],
  };
}

/** The message of the halt has the time of the request; the submission has the time of its end. */
function requestTime(job: Job): string {
  const sent = /was sent at (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)/.exec(objectState(job).message)?.[1];
  return sent ?? job.status?.submission?.time ?? job.metadata.creationTimestamp;
}
