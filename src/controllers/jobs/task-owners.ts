import type { NamespacedObject } from "../../kube/types.ts";
import type { AbandonedTasks } from "../account/abandoned-tasks.ts";

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
