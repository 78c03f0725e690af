import { ServiceError } from "../../provider/errors.ts";
import { taskOf } from "../../provider/operations.ts";
import { foreignTask } from "../../provider/tasks/task-operation.ts";
import type { TaskResult } from "../../provider/tasks/task-result.ts";
import { accountMismatch } from "../account/mismatch.ts";
import { boundTo } from "../account/registry.ts";
import type { ControllerDeps } from "../controller-deps.ts";
import { type Cause, concernsKey, verdictOf } from "../verdict.ts";
import type { Observation } from "./observations.ts";
import { accountOfTask } from "./tasks.ts";
import { type Job, paidOperation } from "./types.ts";

type Attachment = Observation<"Attachable" | "NotAttached">;

/**
 * Reads once the task that a halted job is to be attached to. The task is reserved for the job until the caller releases it
 * (TaskOwners). Sends nothing that is paid. Each message begins with the ID of the task.
 * @returns undefined: the account is not known yet; the job is reconciled when it is
 */
export async function observeAttachment(
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
    if (!(error instanceof ServiceError)) throw error;
    if (error.kind === "NotFound" || error.kind === "InvalidRequest") {
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

function otherTask({ task }: TaskResult, taskID: string): string | undefined {
  return task.taskID === "" || task.taskID === taskID ? undefined : `the service shows task ${task.taskID} instead`;
}

/** Why the service did not show the task. */
function causeOf(error: ServiceError): Cause {
  const verdict = verdictOf(error);
  if (verdict.kind === "Done") throw new Error("an error is never Done", { cause: error });
  return { reason: verdict.reason, message: `it cannot be read (${verdict.message})` };
}
