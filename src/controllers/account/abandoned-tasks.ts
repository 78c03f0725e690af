import type { AccountStatus } from "../../api/v1alpha1/account.ts";
import type { BoundAccount } from "../../api/v1alpha1/meta.ts";
import { type Clock, rfc3339 } from "../../base/clock.ts";
import { isSameService } from "../../base/service-address.ts";
import type { NamespacedObject } from "../../kube/types.ts";
import { OPERATION_NAMES } from "../../provider/operations.ts";
import type { SpendingAdmission } from "../../submission/admission.ts";
import type { TaskEnd } from "../../submission/attribution.ts";
import type { Work } from "../../submission/work.ts";
import { type AccountHandle, type AccountKey, type AccountRegistry, accountKey } from "./registry.ts";

/**
 * Tasks that run on although their job is deleted, or has failed by its deadline. The service shows no way to cancel a
 * task, so it keeps its place (`maxConcurrentTasks`) and reserves its cost until a poll shows its end. A task whose end no
 * poll shows keeps them until 24 h after its submission. The account's status keeps the list across restarts.
 */
export type AbandonedTasks = {
  /**
   * Polls the task, which belongs to the job's place from now on. The place is given back at once when nothing limits the
   * account.
   */
  follow(task: AbandonedTask): void;
  has(uid: string): boolean;
  /** Whether the task is followed. */
  follows(taskID: string): boolean;
  /** Follows the tasks that the account's status shows, which an earlier process followed. Only the first call counts. */
  restore(account: AccountKey, shown: ShownTasks): void;
  /** Polls the tasks of the account's present session, and gives back the places of those that have ended. */
  check(account: AccountKey): void;
  /** The tasks of the account, for its status; the oldest first, at most 100. */
  shown(account: AccountKey): ShownTasks;
  /** This process does not serve the account any more. */
  forget(account: AccountKey): void;
};

/** `status.tasks.abandoned` of an account. */
export type ShownTasks = NonNullable<NonNullable<AccountStatus["tasks"]>["abandoned"]>;

export type AbandonedTask = {
  /** Of the job that does not follow the task any more. */
  work: Work;
  /** The account that the task was submitted with. */
  account: BoundAccount;
  taskID: string;
  /** ms since the epoch. */
  submittedAt: number;
};

type Followed = {
  key: AccountKey;
  work: Work;
  taskID: string;
  submittedAt: number;
  /** Monotonic ms. */
  until: number;
  baseURL: string | undefined;
  /** The session that polls the task; undefined: none yet. */
  account: AccountHandle | undefined;
};

/** Longest time that a task without an end is followed. */
const FOLLOW_MS = 24 * 3_600_000;
/** Most tasks that are followed; each costs a poll every 30 s at least. */
const MAX_FOLLOWED = 1_000;
/** Most tasks that a status shows. */
const MAX_SHOWN = 100;

export type AbandonedTasksOptions = {
  accounts: Pick<AccountRegistry, "get">;
  admission: Pick<SpendingAdmission, "running" | "release">;
  clock: Clock;
};

export function createAbandonedTasks({ accounts, admission, clock }: AbandonedTasksOptions): AbandonedTasks {
  /** By UID of the job. */
  const followed = new Map<string, Followed>();
  const restored = new Set<AccountKey>();

  function add(
    key: AccountKey,
    { work, taskID, submittedAt }: Omit<AbandonedTask, "account">,
    baseURL?: string,
  ): Followed {
    const leftMs = Math.min(FOLLOW_MS, submittedAt + FOLLOW_MS - clock.now());
    const until = clock.monotonic() + leftMs;
    const task: Followed = { key, work, taskID, submittedAt, until, baseURL, account: undefined };
    followed.set(work.uid, task);
    admission.running(key, work);
    return task;
  }

  function end({ work: { uid }, account, taskID }: Followed, ended: TaskEnd): void {
    followed.delete(uid);
    account?.tasks.forget(taskID);
    admission.release(uid, { charged: true, unseen: ended === "Unseen" });
  }

  /** Whether the task ended, or cannot be followed any more. undefined: it is followed on. */
  function endOf(task: Followed, account: AccountHandle | undefined): TaskEnd | undefined {
    if (clock.monotonic() >= task.until) return "Seen";
    if (account === undefined) return undefined;
    // The task is of another service.
    if (!isSameService(account.baseURL, task.baseURL ?? account.baseURL)) return "Unseen";
    if (account !== task.account) {
      // A changed spec replaces the session, and the former one polls nothing any more.
      task.account = account;
      task.baseURL = account.baseURL;
      account.tasks.follow(task.taskID, task.submittedAt, task.work.namespace);
    }
    const state = account.tasks.latest(task.taskID)?.result.task.state;
    if (state === "Succeeded" || state === "Failed") return "Seen";
    const failing = account.tasks.failing(task.taskID);
    return failing !== undefined && "useless" in failing ? "Unseen" : undefined;
  }

  function checkTask(task: Followed, account: AccountHandle | undefined): void {
    const ended = endOf(task, account);
    if (ended !== undefined) end(task, ended);
  }

  return {
    follow({ work, account: bound, ...task }) {
      if (followed.has(work.uid)) return;
      const key = accountKey(bound.kind, bound.name, work.namespace);
      const account = accounts.get(key)?.handle;
      if (account === undefined || !isLimited(account) || followed.size >= MAX_FOLLOWED) {
        return admission.release(work.uid, { charged: true, unseen: true });
      }
      checkTask(add(key, { work, ...task }, bound.baseURL), account);
    },
    has: (uid) => followed.has(uid),
    follows: (taskID) => [...followed.values()].some((task) => task.taskID === taskID),
    restore(key, shown) {
      if (restored.has(key)) return;
      restored.add(key);
      for (const { uid, namespace, operation: name, taskID, submitTime } of shown) {
        const operation = OPERATION_NAMES.find((one) => one === name);
        const submittedAt = Date.parse(submitTime);
        if (operation === undefined || Number.isNaN(submittedAt) || followed.has(uid)) continue;
        add(key, { work: { uid, namespace, operation }, taskID, submittedAt });
      }
    },
    check(key) {
      const entry = accounts.get(key);
      for (const task of followed.values()) {
        if (task.key !== key) continue;
        if (entry === undefined) end(task, "Unseen");
        else checkTask(task, entry.handle);
      }
    },
    shown: (key) =>
      [...followed.values()]
        .filter((task) => task.key === key)
        .slice(0, MAX_SHOWN)
        .map(({ work: { uid, namespace, operation }, taskID, submittedAt }) => ({
          uid,
          namespace,
          operation,
          taskID,
          submitTime: rfc3339(submittedAt),
        })),
    forget(key) {
      restored.delete(key);
      for (const [uid, task] of followed) if (task.key === key) followed.delete(uid);
    },
  };
}

/** Whether a task in flight keeps anything from the account's other jobs. */
function isLimited(account: AccountHandle): boolean {
  const { maxTasks, budget } = account.allowance();
  return maxTasks !== undefined || (budget !== undefined && budget.kind !== "Unlimited");
}

/**
 * Which object has a remote task: at most one. A job that is attached to a task reserves it first, so that of two jobs that
 * are reconciled at the same time one is attached at most.
 */
export type TaskOwners = {
  /** Reserves the task for the job until `release`. `Taken`: another object has it, or reserves it now. */
  reserve(taskID: string, job: NamespacedObject): Reservation;
  /** Ends the reservation of the job. Call it after the status shows the task. */
  release(uid: string): void;
};

/** `owner`: who has the task, in words for the user of the namespace. */
export type Reservation = { kind: "Reserved" } | { kind: "Taken"; owner: string };

export type TaskOwnersOptions = {
  /** Every job whose status shows the task, finished ones included. Objects of a list have no `kind`. */
  jobsWith: (taskID: string) => Iterable<{ kind: string; metadata: NamespacedObject["metadata"] }>;
  abandoned: Pick<AbandonedTasks, "follows">;
};

export function createTaskOwners({ jobsWith, abandoned }: TaskOwnersOptions): TaskOwners {
  /** UID of the job, by task ID. */
  const reserved = new Map<string, string>();

  return {
    reserve(taskID, { metadata: { uid, namespace } }) {
      for (const { kind, metadata } of jobsWith(taskID)) {
        if (metadata.uid === uid) continue;
        // Users of a namespace may not see the objects of another one.
        const owner = metadata.namespace === namespace ? `${kind} ${metadata.name}` : "an object of another namespace";
        return { kind: "Taken", owner };
      }
      if (abandoned.follows(taskID)) return { kind: "Taken", owner: "a job that was deleted, until the task ends," };
      const holder = reserved.get(taskID) ?? uid;
      if (holder !== uid) return { kind: "Taken", owner: "another job" };
      reserved.set(taskID, uid);
      return { kind: "Reserved" };
    },
    release(uid) {
      for (const [taskID, holder] of reserved) if (holder === uid) reserved.delete(taskID);
    },
  };
}
