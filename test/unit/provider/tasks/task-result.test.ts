import { expect, it } from "vitest";
import { taskResultFrom } from "../../../../src/provider/tasks/task-result.ts";

it.each([
  { status: "TASK_STATUS_QUEUED", state: "Queued" },
  { status: "TASK_STATUS_PROCESSING", state: "Running" },
  { status: "TASK_STATUS_SUCCEED", state: "Succeeded" },
  { status: "TASK_STATUS_FAILED", state: "Failed" },
  { status: "TASK_STATUS_CANCELED", state: "Failed" },
  { status: "TASK_STATUS_CANCELLED", state: "Failed" },
  { status: "TASK_STATUS_TIMEOUT", state: "Failed" },
  { status: "task_status_failed", state: "Failed" },
  { status: "failure", state: "Failed" },
  { status: "TASK_STATUS_SUCCESS", state: "Other" },
  { status: "TASK_STATUS_CANCELING", state: "Other" },
  { status: "TASK_STATUS_NEW", state: "Other" },
  { status: "toString", state: "Other" },
])("a task with status $status is $state, and keeps the service's own word", ({ status, state }) => {
  const { task } = taskResultFrom({ task: { task_id: "t", status } });
  expect(task).toMatchObject({ status, state });
});
