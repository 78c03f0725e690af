import { createIndexSet, type IndexSet } from "./index-set.ts";

/** Where an index of a batch stands, as its status shows it. Indexes start in ascending order. */
export type Progress = {
  completed: IndexSet;
  failed: IndexSet;
  /** Started, and neither completed nor failed. */
  active: IndexSet;
  /** Of the active ones, those whose job may not exist yet: no reconcile has seen it. */
  creating: IndexSet;
};

/** `Deleted`: it is being deleted without a result. `Finished` and `Deleted` jobs have nothing left to do for Mooring. */
export type ChildState = "Unfinished" | "Halted" | "Succeeded" | "Failed" | "Deleted";

export type Observation = {
  total: number;
  parallelism: number;
  /** The batch ends when more indexes have failed. Undefined: all are tried. */
  maxFailedIndexes: number | undefined;
  /** Nothing is started while more jobs are halted. */
  maxHaltedIndexes: number;
  suspended: boolean;
  pastDeadline: boolean;
  progress: Progress;
  /** The jobs that exist, by index. */
  children: ReadonlyMap<number, ChildState>;
};

/** Why a batch starts no more items, although there are some. */
export type StopCause = "MaxFailedIndexesExceeded" | "DeadlineExceeded";

export type BatchPlan = {
  /** Recorded in the status before anything else is done. */
  record: {
    completed: number[];
    failed: number[];
    /** New in `active` and `creating`. */
    started: number[];
    /** In `active` because their job exists: the status does not know them. */
    adopted: number[];
    /** No longer in `creating`: their job was seen. */
    seen: number[];
  };
  /** Active indexes without a job that was seen: when a consistent read shows none either, a user has deleted it, and they failed. */
  missing: number[];
  /** Jobs to remove when the record is written. */
  remove: number[];
  /** Jobs to create when the record is written. */
  create: number[];
  stopped: StopCause | undefined;
  /** Nothing is active, and nothing will be started. */
  ended: boolean;
};

/**
 * What a batch does next. Pure.
 *
 * # Guarantees
 * - A job is created only for an index in `creating`. So a job that was seen once is never created again.
 * - An index is recorded before its job is removed, and is not started again.
 * - At most `parallelism` jobs that are not halted exist, or may exist, when one is started. With the halted ones, there are at most
 *   `maxHaltedIndexes` more at any time.
 */
export function planBatch(observed: Observation): BatchPlan {
  const { progress, children } = observed;
  const record: BatchPlan["record"] = { completed: [], failed: [], started: [], adopted: [], seen: [] };
  const remove: number[] = [];
  let existing = 0;
  let halted = 0;

  for (const [index, state] of children) {
    if (isRecorded(progress, index)) {
      remove.push(index);
      existing++;
      continue;
    }
    if (!progress.active.has(index)) record.adopted.push(index);
    if (progress.creating.has(index)) record.seen.push(index);
    if (state === "Halted") halted++;
    const into = endOf(state, record);
    if (into === undefined) existing++;
    else {
      into.push(index);
      remove.push(index);
    }
  }

  const absent = [...progress.active.values()].filter((index) => !children.has(index));
  const creating = absent.filter((index) => progress.creating.has(index));
  const missing = absent.filter((index) => !progress.creating.has(index));
  existing += creating.length + missing.length;

  const stopped = stopCauseOf(observed, progress.failed.size() + record.failed.length);
  const next = firstNotStarted(progress, record.adopted);
  if (stopped === undefined && !observed.suspended && halted <= observed.maxHaltedIndexes) {
    const free = Math.max(0, observed.parallelism - (existing - halted));
    for (let index = next; index < observed.total && record.started.length < free; index++) {
      if (!isStarted(progress, index) && !record.adopted.includes(index)) record.started.push(index);
    }
  }
  const create = observed.suspended ? [] : [...creating, ...record.started];
  const isActive = existing > remove.length - record.completed.length - record.failed.length;
  const isDone = stopped !== undefined || next >= observed.total;
  return { record, missing, remove, create, stopped, ended: isDone && !isActive && record.started.length === 0 };
}

function endOf(state: ChildState, record: BatchPlan["record"]): number[] | undefined {
  if (state === "Succeeded") return record.completed;
  return state === "Failed" || state === "Deleted" ? record.failed : undefined;
}

function isRecorded({ completed, failed }: Progress, index: number): boolean {
  return completed.has(index) || failed.has(index);
}

function isStarted(progress: Progress, index: number): boolean {
  return isRecorded(progress, index) || progress.active.has(index);
}

/** Only an adopted index can leave a gap behind it: without one, the number of started indexes is the next one. */
function firstNotStarted(progress: Progress, adopted: readonly number[]): number {
  const { completed, failed, active } = progress;
  let next = 0;
  const started = completed.size() + failed.size() + active.size();
  if (started > 0 && isStarted(progress, started - 1) && !isStarted(progress, started)) next = started;
  while (isStarted(progress, next) || adopted.includes(next)) next++;
  return next;
}

function stopCauseOf({ maxFailedIndexes, pastDeadline }: Observation, failed: number): StopCause | undefined {
  if (maxFailedIndexes !== undefined && failed > maxFailedIndexes) return "MaxFailedIndexesExceeded";
  return pastDeadline ? "DeadlineExceeded" : undefined;
}

/** The progress that the status shows after the record of a plan. `failed`: indexes of `missing` that surely have no job. */
export function progressAfter(
  before: Progress,
  { record }: Pick<BatchPlan, "record">,
  failed: readonly number[],
): Progress {
  const completed = createIndexSet(record.completed, before.completed);
  const failures = createIndexSet([...record.failed, ...failed], before.failed);
  const active = createIndexSet([...record.started, ...record.adopted], before.active);
  const creating = createIndexSet(record.started, before.creating);
  for (const index of [...record.completed, ...record.failed, ...failed]) {
    active.remove(index);
    creating.remove(index);
  }
  for (const index of record.seen) creating.remove(index);
  return { completed, failed: failures, active, creating };
}
