import type { BoundAccount } from "../../api/v1alpha1/meta.ts";
import type { Clock } from "../../clock.ts";
import type { Work } from "../../submission/account-line.ts";
import type { SpendingAdmission } from "../../submission/admission.ts";
import { type AccountHandle, type AccountKey, type AccountRegistry, accountKey } from "./registry.ts";

/**
 * Tasks that run on although their job is deleted, or has failed by its deadline. The service shows no way to cancel a
 * task, so it keeps its place (`maxConcurrentTasks`) and reserves its cost until a poll shows its end. A task whose end no
 * poll shows keeps them for 24 h. This process remembers nothing from before its start.
 */
export type AbandonedTasks = {
  /**
   * Polls the task, which belongs to the job's place from now on. The place is given back at once when nothing limits the
   * account.
   */
  follow(task: AbandonedTask): void;
  has(uid: string): boolean;
  /** Gives back the places of the account's tasks that have ended. Call it every few seconds. */
  check(account: AccountKey): void;
};

export type AbandonedTask = {
  /** Of the job that does not follow the task any more. */
  work: Work;
  /** The account that the task was submitted with. */
  account: BoundAccount;
  taskID: string;
  /** ms since the epoch. */
  submittedAt: number;
};

type Followed = { taskID: string; account: AccountHandle; submittedAt: number; until: number };

/** Longest time that a task without an end is followed. */
const FOLLOW_MS = 24 * 3_600_000;
/** Most tasks that are followed; each costs a poll every 30 s at least. */
const MAX_FOLLOWED = 1_000;

export type AbandonedTasksOptions = {
  accounts: Pick<AccountRegistry, "get">;
  admission: Pick<SpendingAdmission, "running" | "release">;
  clock: Clock;
};

export function createAbandonedTasks({ accounts, admission, clock }: AbandonedTasksOptions): AbandonedTasks {
  /** By UID of the job. */
  const followed = new Map<string, Followed>();

  function end(uid: string, { account, taskID }: Followed, unseen: boolean): void {
    followed.delete(uid);
    account.tasks.forget(taskID);
    admission.release(uid, { charged: true, unseen });
  }

  return {
    follow({ work, account: bound, taskID, submittedAt }) {
      const { uid } = work;
      const key = accountKey(bound.kind, bound.name, work.namespace);
      const account = accounts.get(key)?.handle;
      const limited = account !== undefined && isLimited(account);
      if (!limited || account.baseURL !== bound.baseURL || followed.size >= MAX_FOLLOWED) {
        return admission.release(uid, { charged: true, unseen: true });
      }
      if (followed.has(uid)) return;
      admission.running(key, work);
      followed.set(uid, { taskID, account, submittedAt, until: clock.monotonic() + FOLLOW_MS });
      account.tasks.follow(taskID, submittedAt);
    },
    has: (uid) => followed.has(uid),
    check(key) {
      const account = accounts.get(key)?.handle;
      for (const [uid, task] of followed) {
        if (task.account.key !== key) continue;
        if (account === undefined || clock.monotonic() >= task.until) {
          end(uid, task, account === undefined);
          continue;
        }
        if (account !== task.account) {
          // The account's spec has changed; the former session polls nothing any more.
          task.account = account;
          account.tasks.follow(task.taskID, task.submittedAt);
        }
        const state = account.tasks.latest(task.taskID)?.result.task.state;
        if (state === "Succeeded" || state === "Failed") end(uid, task, false);
      }
    },
  };
}

/** Whether a task in flight keeps anything from the account's other jobs. */
function isLimited(account: AccountHandle): boolean {
  const { maxTasks, budget } = account.allowance();
  return maxTasks !== undefined || (budget !== undefined && budget.kind !== "Unlimited");
}
