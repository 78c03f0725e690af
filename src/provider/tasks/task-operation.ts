import { OPERATION_NAMES, type Operation, taskOf } from "../operations.ts";
import { resultsOf, type TaskResult } from "./task-result.ts";

/**
 * Why a task is not one of an operation, as the service shows the task; undefined: it can be. A type that the interface
 * document does not show can be a task of any operation.
 */
export function foreignTask(result: TaskResult, operation: Operation): string | undefined {
  const { taskType } = result.task;
  const known = OPERATION_NAMES.find((one) => taskOf(one)?.type === taskType);
  if (known !== undefined && known !== operation) return `its type is ${taskType}, which is of ${known}`;
  const wanted = taskOf(operation)?.result;
  const kinds = resultsOf(result).map(({ kind }) => kind);
  const [other] = kinds;
  return other === undefined || kinds.some((kind) => kind === wanted) ? undefined : `it has a result of kind ${other}`;
}

/** Why a result is not that of the task that was asked for; undefined: it is, or does not say. */
export function otherTask({ task }: TaskResult, taskID: string): string | undefined {
  return task.taskID === "" || task.taskID === taskID ? undefined : `the service shows task ${task.taskID} instead`;
}
