import { cut, getCondition } from "../../api/v1alpha1/conditions.ts";
import { ANNOTATIONS } from "../../api/v1alpha1/meta.ts";
import type { Reason } from "../../api/v1alpha1/reasons.ts";
import { rfc3339 } from "../../base/clock.ts";
import { isGivenUp, ServiceError } from "../../provider/errors.ts";
import { taskOf } from "../../provider/operations.ts";
import { foreignTask, otherTask } from "../../provider/tasks/task-result.ts";
import type { OpenSubmission } from "../../submission/record.ts";
import { accountMismatch } from "../account/mismatch.ts";
import { boundTo } from "../account/registry.ts";
import type { ControllerDeps } from "../controller-deps.ts";
import { type Cause, concernsKey, verdictOf } from "../verdict.ts";
import type { JobContext, Observation, ObserveContext, Observed } from "./observations.ts";
import { type Step, submission } from "./steps.ts";
import { accountOfTask, isUnknownTask } from "./tasks.ts";
import { attachTaskOf, type Job, type JobStatus, paidOperation, resubmitTokenOf } from "./types.ts";

// Steps

/**
 * The annotations that exist at the halt, such as those of a copied manifest, count as handled: only a later value releases the
 * job or attaches a task.
 */
export function halt(observation: Observation<"Unknown" | "Unusable">, { job, now }: JobContext): Step {
  const { kind, cause, ...submitted } = observation;
  const results = observation.kind === "Unusable" ? observation.results : [];
  const halted = HALTS[kind];
  return {
    outcome: {
      phase: "Halted",
      reason: halted.reason,
      message: haltMessage(job, submitted.record, { ...halted, ...(results.length > 0 && INCOMPLETE), cause }),
    },
    written: {
      ...submission(job, submitted, halted.state, now),
      ...(results.length === 0 ? {} : { results }),
      ...handledAtHalt(job),
    },
  };
}

/** The annotations that exist when a job halts. */
export function handledAtHalt(job: Job): Partial<JobStatus> {
  const token = resubmitTokenOf(job);
  const attachTask = attachTaskOf(job);
  return {
    ...(token === undefined ? {} : { lastHandledResubmitToken: token }),
    ...(attachTask === undefined ? {} : { lastHandledAttachTask: attachTask }),
  };
}

/** What a halt says of the request. `look`: what you can look for before you decide. */
type Halt = { reason: Reason; state: "Accepted" | "Unknown"; outcome: string; look: string; again: string };

const HALTS: Record<"Unknown" | "Unusable", Halt> = {
  Unknown: {
    reason: "SubmissionUnknown",
    state: "Unknown",
    outcome: "its outcome is unknown",
    look: "The service may have accepted and charged it: look for it in the service's records of that time.",
    again: "to send it again, which may pay twice",
  },
  Unusable: {
    reason: "ResponseUnusable",
    state: "Accepted",
    outcome: "the service accepted it, but the result cannot be used",
    look: "It is charged, and Mooring does not send it again: look for its result in the service's records of that time.",
    again: "to send it again, which pays twice",
  },
};

/** A part of the result is stored. */
const INCOMPLETE: Pick<Halt, "outcome" | "look"> = {
  outcome: "the service accepted it, but the result is incomplete",
  look: "It is charged, and Mooring does not send it again: look for the whole result in the service's records of that time.",
};

/** Longest cause in a message, in characters. */
const CAUSE_LENGTH = 300;

/** The facts and the ways to decide, in words: the commands are data (offersOf), and `mooring resolve` shows the bills. */
function haltMessage(
  job: Job,
  { operation, time }: OpenSubmission,
  { outcome, look, again, cause }: Halt & { cause: string },
): string {
  const start = `The request (${operation}) was sent at ${time}; ${outcome}`;
  const attach =
    taskOf(paidOperation(job)) === undefined ? "" : `set ${ANNOTATIONS.attachTask} to the ID of its task, `;
  const decide = `To decide, ${attach}set ${ANNOTATIONS.resubmitToken} to a new value ${again}, or delete the job`;
  return `${start} (${cut(cause, CAUSE_LENGTH)}). ${look} ${decide}`;
}

export function release({ token }: Observation<"Released">): Step {
  const message = `Released by the annotation ${ANNOTATIONS.resubmitToken}`;
  return {
    outcome: { phase: "Pending", reason: "Submitting", message, stalled: false },
    written: { lastHandledResubmitToken: token },
    againMs: 0,
  };
}

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
  const remove = "remove the annotation";
  const hasTasks = taskOf(paidOperation(job)) !== undefined;
  const advice = hasTasks ? `set ${ANNOTATIONS.attachTask} to the ID of another task, or ${remove}` : remove;
  const notAttached = { reason, message: permanent ? `${message}: ${advice}` : message };
  return {
    outcome: { phase: "Halted", ...haltOf(job), notAttached },
    againMs: permanent ? PERMANENT_RETRY_MS : RETRY_MS,
  };
}

export function showHalted({ outdated }: Observation<"Unreleased">, { job }: JobContext): Step {
  return outdated ? { outcome: { phase: "Halted", ...haltOf(job) } } : {};
}

/** The halt that the status shows. */
function haltOf({ status }: Job): { reason: Reason; message: string } {
  const shown = getCondition(status?.conditions, "Stalled");
  const { reason } = Object.values(HALTS).find((halt) => halt.reason === shown?.reason) ?? HALTS.Unknown;
  return { reason, message: shown?.message ?? "The outcome of the request is unknown" };
}

// Observations

/** A new value of the resubmit token releases a halted job that is not suspended. */
export function observeHalted(
  { job: { spec, status } }: JobContext,
  token: string | undefined,
): Observation<"Unreleased" | "Released"> {
  if (!spec.suspend && token !== undefined && token !== status?.lastHandledResubmitToken) {
    return { kind: "Released", token };
  }
  return { kind: "Unreleased", outdated: getCondition(status?.conditions, "TaskAttached") !== undefined };
}

/** The annotation that attaches a task is read first: it costs nothing. */
export async function observeHaltedJob<T extends Job>(context: ObserveContext<T>): Promise<Observed | undefined> {
  const { deps, job, signal } = context;
  const observation = observeHalted(context, resubmitTokenOf(job));
  const taskID = attachTaskOf(job);
  if (taskID === undefined || taskID === job.status?.lastHandledAttachTask) return { observation };
  const attachment = await observeAttachment(deps.shared, job, taskID, signal);
  if (attachment === undefined) return undefined;
  // While it is unknown whether the task exists, another request is not sent.
  const replaced = attachment.kind === "NotAttached" && attachment.permanent && observation.kind === "Released";
  return { observation: replaced ? observation : attachment };
}

type Attachment = Observation<"Attachable" | "NotAttached">;

/**
 * Reads once the task that a halted job is to be attached to. The task is reserved for the job until the caller releases it
 * (TaskOwners). Sends nothing that is paid. Each message begins with the ID of the task.
 * @returns undefined: the account is not known yet; the job is reconciled when it is
 */
async function observeAttachment(
  shared: Pick<ControllerDeps, "accounts" | "taskOwners">,
  job: Job,
  taskID: string,
  signal: AbortSignal,
): Promise<Attachment | undefined> {
  const refused = (cause: Cause) => notAttached(taskID, cause, true);
  const { submission, account: bound } = job.status ?? {};
  const operation = paidOperation(job);
  if (taskOf(operation) === undefined || submission === undefined) {
    return refused({ reason: "TaskMismatch", message: `the request of the job (${operation}) makes no task` });
  }
  const reservation = shared.taskOwners.reserve(taskID, job);
  if (reservation.kind === "Taken") return refused({ reason: "TaskTaken", message: `${reservation.owner} has it` });

  const resolved = await accountOfTask(shared, job);
  if (resolved.kind === "Checking") return undefined;
  if (resolved.kind === "Held") return notAttached(taskID, resolved, false);
  const { account } = resolved;
  const mismatch = accountMismatch(bound?.baseURL, account);
  if (mismatch !== undefined) return notAttached(taskID, mismatch, false);
  try {
    const { result } = await account.tasks.read(taskID, signal);
    const foreign = otherTask(result, taskID) ?? foreignTask(result, operation);
    if (foreign !== undefined) {
      return refused({ reason: "TaskMismatch", message: `it is not a task of this job: ${foreign}` });
    }
    return { kind: "Attachable", taskID, account: bound ?? boundTo(account), submission };
  } catch (error) {
    if (!(error instanceof ServiceError) || isGivenUp(error)) throw error;
    if (isUnknownTask(error)) {
      return refused({ reason: "TaskNotFound", message: `the service does not show it (${error.message})` });
    }
    if (concernsKey(error)) {
      shared.accounts.unauthorized(account.key, `the service refuses the key: ${error.message}`);
    }
    return notAttached(taskID, causeOf(error), false);
  }
}

function notAttached(taskID: string, { reason, message }: Cause, permanent: boolean): Attachment {
  return { kind: "NotAttached", reason, message: `Task ${taskID}: ${message}`, permanent };
}

/** Why the service did not show the task. */
function causeOf(error: ServiceError): Cause {
  const verdict = verdictOf(error);
  if (verdict.kind === "Done") throw new Error("an error is never Done", { cause: error });
  return { reason: verdict.reason, message: `it cannot be read (${verdict.message})` };
}
