import { ServiceError } from "../../provider/errors.ts";
import { taskOf } from "../../provider/operations.ts";
import { foreignTask } from "../../provider/tasks/task-operation.ts";
import type { TaskResult } from "../../provider/tasks/task-result.ts";
import { accountMismatch } from "../account/mismatch.ts";
import { type AccountHandle, boundTo } from "../account/registry.ts";
import type { ControllerDeps } from "../controller-deps.ts";
import { type Cause, concernsKey, verdictOf } from "../verdict.ts";
import { paidOperation } from "./job-kinds.ts";
import type { Observation } from "./observations.ts";
import { accountOfTask } from "./tasks.ts";
import type { Job } from "./types.ts";

type Attachment = Observation<"Attachable" | "NotAttached">;

/**
 * Reads once the task that a halted job is to be attached to. The task is reserved for the job until the caller releases it
 * (task-owners.ts). Sends nothing that is paid.
 * @returns undefined: the account is not known yet; the job is reconciled when it is
 */
export async function observeAttachment(
  shared: Pick<ControllerDeps, "accounts" | "taskOwners">,
  job: Job,
  taskID: string,
  signal: AbortSignal,
): Promise<Attachment | undefined> {
  const { submission, account: bound } = job.status ?? {};
  const operation = paidOperation(job);
  if (taskOf(operation) === undefined || submission === undefined) {
    return refused("TaskMismatch", `The request (${operation}) makes no task`);
  }
  const reservation = shared.taskOwners.reserve(taskID, job);
  if (reservation.kind === "Taken") return refused("TaskTaken", `Task ${taskID}: ${reservation.owner} has it`);

  const resolved = await accountOfTask(shared, job);
  if (resolved.kind === "Checking") return undefined;
  if (resolved.kind === "Held") return { kind: "NotAttached", ...causeOf(resolved), permanent: false };
  const { account } = resolved;
  const mismatch = accountMismatch(bound?.baseURL, account);
  if (mismatch !== undefined) return { kind: "NotAttached", ...mismatch, permanent: false };
  try {
    const { result } = await account.tasks.read(taskID, signal);
    const foreign = otherTask(result, taskID) ?? foreignTask(result, operation);
    if (foreign !== undefined) return refused("TaskMismatch", `Task ${taskID} is not one of this job: ${foreign}`);
    return { kind: "Attachable", taskID, account: bound ?? boundTo(account), submission };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return unread(shared, account, taskID, error);
  }
}

function refused(reason: Cause["reason"], message: string): Attachment {
  return { kind: "NotAttached", reason, message, permanent: true };
}

function causeOf({ reason, message }: Cause): Cause {
  return { reason, message };
}

function otherTask({ task }: TaskResult, taskID: string): string | undefined {
  return task.taskID === "" || task.taskID === taskID ? undefined : `the service shows task ${task.taskID} instead`;
}

/** The service did not show the task. */
function unread(
  { accounts }: Pick<ControllerDeps, "accounts">,
  { key }: AccountHandle,
  taskID: string,
  error: ServiceError,
): Attachment {
  if (error.kind === "NotFound" || error.kind === "InvalidRequest") {
    return refused("TaskNotFound", `The service does not show task ${taskID} (${error.message})`);
  }
  if (concernsKey(error)) accounts.unauthorized(key, `the service refuses the key: ${error.message}`);
  const verdict = verdictOf(error);
  if (verdict.kind === "Done") throw new Error("an error is never Done", { cause: error });
  const { reason, message } = verdict;
  return { kind: "NotAttached", reason, message: `Task ${taskID} cannot be read (${message})`, permanent: false };
}
