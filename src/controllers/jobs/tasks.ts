import type { AccountHandle, Resolved } from "../account/registry.ts";
import type { ControllerDeps } from "../controller-deps.ts";
import { hasReleasedSlot } from "./failing-polls.ts";
import { type Job, type TaskFollower, workOf } from "./types.ts";

export function createTaskFollower(shared: Pick<ControllerDeps, "accounts" | "admission" | "clock">): TaskFollower {
  /** By UID of the job. */
  const followed = new Map<string, { account: AccountHandle; taskID: string; polledFor?: number }>();

  function forget({ metadata: { uid } }: Job): void {
    const task = followed.get(uid);
    task?.account.tasks.forget(task.taskID);
    followed.delete(uid);
  }

  return {
    forget,
    async follow(job, taskID) {
      const { uid } = job.metadata;
      const { account: bound, submitTime } = job.status ?? {};
      const resolved = await accountOfTask(shared, job);
      if (resolved.kind !== "Usable") return;
      const { account } = resolved;
      if (bound !== undefined && bound.baseURL !== account.baseURL) return forget(job);
      if (!hasReleasedSlot(job.status)) shared.admission.running(account.key, workOf(job));
      const task = followed.get(uid);
      if (task?.account === account && task.taskID === taskID) return;
      forget(job);
      followed.set(uid, { account, taskID });
      const submittedAt = submitTime === undefined ? shared.clock.now() : Date.parse(submitTime);
      account.tasks.follow(taskID, submittedAt, job.metadata.namespace);
    },
    pollNow({ metadata: { uid } }) {
      const task = followed.get(uid);
      task?.account.tasks.pollNow(task.taskID);
    },
    pollAfter({ metadata: { uid } }, time) {
      const task = followed.get(uid);
      if (task === undefined || task.polledFor === time) return;
      task.polledFor = time;
      task.account.tasks.pollNow(task.taskID);
    },
  };
}

/** The account that the task was submitted with, whatever `spec.accountRef` means by now: another account does not know the task. */
export async function accountOfTask({ accounts }: Pick<ControllerDeps, "accounts">, job: Job): Promise<Resolved> {
  return accounts.resolve(job.status?.account ?? job.spec.accountRef, job.metadata.namespace);
}
