import { FINALIZER } from "../../api/v1alpha1/meta.ts";
import { keyOf } from "../../kube/types.ts";
import type { ReconcileContext, Result } from "../../runtime/controller.ts";
import type { AbandonedTask } from "../account/abandoned-tasks.ts";
import type { ControllerDeps } from "../controller-deps.ts";
import { abandonCopies, startCopy } from "./copies.ts";
import type { JobDeps } from "./deps.ts";
import { observe } from "./observe.ts";
import { isPastDeadline } from "./tasks.ts";
import { type Job, type RequestOutcome, workOf } from "./types.ts";

/** The unfinished jobs of one kind. Releases what this process holds for a job when the job finishes or is deleted. */
export type LiveJobs<T extends Job> = {
  /** The job is not finished. Stores its latest object, so that its deletion can be reported. */
  track(job: T): void;
  /** The job has finished. */
  finish(job: T): void;
  /**
   * Forgets a deleted job that had this key, also when another job has it now, once its request and its copy have ended. `present`: the
   * object with the key.
   */
  forgetFormer(key: string, present: T | undefined, context: ReconcileContext): Promise<void>;
  /** Another process serves the account of the job that has or had this key. */
  forgetServed(key: string): void;
  /**
   * The job is being deleted. The finalizer blocks it only while its copy runs, so that a result that was paid for is stored.
   * A copy that a restart interrupted runs once more.
   */
  finalize(job: T, context: ReconcileContext): Promise<Result>;
  /** Removes the parts of artifacts that a halted job left in the store. */
  removeParts(job: T, context: ReconcileContext): Promise<void>;
};

/** Re-check interval while the account or the store is not known yet, right after a start. */
const CHECKING_MS = 1_000;
/** Re-check interval for the copy of a deleted job, in case a wake-up is lost. */
const COPY_CHECK_MS = 60_000;

export function createLiveJobs<T extends Job>(deps: JobDeps<T>): LiveJobs<T> {
  const { shared, adapter, running, copies, claims, tasks } = deps;
  const { admission } = shared;
  /** By key, then by UID: while the request of a deleted job is under way, another job can have its key. */
  const tracked = new Map<string, Map<string, T>>();
  /** UIDs of halted jobs without parts in the store. */
  const withoutParts = new Set<string>();

  const trackedAt = (key: string): readonly T[] => [...(tracked.get(key)?.values() ?? [])];

  /** Whether it was tracked. */
  function untrack(key: string, uid: string): boolean {
    const jobs = tracked.get(key);
    const found = jobs?.delete(uid) === true;
    if (jobs?.size === 0) tracked.delete(key);
    return found;
  }

  /**
   * A copy that the previous process left goes on, once: this process has neither finished nor failed it. Undefined: there
   * is none, or it cannot go on.
   */
  async function resumeCopy(job: T, signal: AbortSignal): Promise<Result | undefined> {
    if (job.status?.phase !== "Storing" || copies.backoffUntil(job.metadata.uid) !== undefined) return undefined;
    const observed = await observe(deps, job, { kind: "Storing" }, signal);
    if (observed === undefined) return { requeueAfterMs: CHECKING_MS };
    if (observed.observation.kind !== "NotCopying") return undefined;
    await startCopy(deps, job, { ...observed, results: observed.observation.results }, signal);
    return { requeueAfterMs: COPY_CHECK_MS };
  }

  /** The results of a deleted job are stored, or what is left of them is removed. */
  async function endCopy(job: T, context: Pick<ReconcileContext, "signal" | "log">): Promise<void> {
    const { uid } = job.metadata;
    const end = copies.find(uid)?.end;
    if (end?.kind === "Stored") {
      const uris = end.results.flatMap(({ artifact }) => artifact?.uri ?? []).join(", ");
      shared.recorder.normal(job, "Stored", "Delete", `The results are stored at ${uris}`);
    } else {
      const results = end?.results ?? job.status?.results ?? [];
      const left = { ...job, status: { ...job.status, conditions: [], results } };
      await abandonCopies(left, deps.stores, undefined, context);
    }
    copies.forget(uid, false);
  }

  function forgetDeleted(key: string, job: T): void {
    const { uid } = job.metadata;
    const request = running.find(uid);
    const copy = copies.find(uid);
    tasks.forget(job);
    withoutParts.delete(uid);
    running.resetBackoff(uid);
    admission.withdraw(uid);
    // The response, or the end of the copy, triggers another reconcile, which continues here.
    if (request !== undefined && request.answer === undefined) return;
    if (copy !== undefined && copy.end === undefined) return void copies.hurry(uid);
    const first = untrack(key, uid) && copy === undefined;
    // The service charges the task although its job is deleted.
    const task = first ? runningTask(job, request?.answer) : undefined;
    if (task !== undefined) shared.abandoned.follow(task);
    else if (!shared.abandoned.has(uid)) admission.release(uid, releaseOf(job, request?.answer));
    if (first) announceDeleted(shared, job, request?.answer);
    running.forget(uid);
    claims.release(uid);
  }

  return {
    track(job) {
      const key = keyOf(job);
      tracked.set(key, (tracked.get(key) ?? new Map<string, T>()).set(job.metadata.uid, job));
    },
    finish(job) {
      const { uid } = job.metadata;
      tasks.forget(job);
      const task = untrack(keyOf(job), uid) ? runningTask(job, undefined) : undefined;
      running.resetBackoff(uid);
      // The response to the last status write was lost: the step that settles the request did not run.
      if (running.find(uid)?.answer !== undefined) running.forget(uid);
      if (task !== undefined) shared.abandoned.follow(task);
      else if (!shared.abandoned.has(uid)) admission.release(uid, { charged: true });
    },
    async forgetFormer(key, present, context) {
      for (const job of trackedAt(key)) {
        const { uid } = job.metadata;
        if (uid === present?.metadata.uid) continue;
        forgetDeleted(key, job);
        if (copies.find(uid)?.end !== undefined) await endCopy(job, context);
      }
    },
    forgetServed(key) {
      for (const job of trackedAt(key)) {
        const { uid } = job.metadata;
        if (running.find(uid) !== undefined) continue;
        untrack(key, uid);
        tasks.forget(job);
        withoutParts.delete(uid);
        running.resetBackoff(uid);
        copies.abandon(uid);
        shared.taskOwners.release(uid);
      }
    },
    async finalize(job, { signal, log }) {
      const { uid, finalizers = [] } = job.metadata;
      const copy = copies.find(uid);
      const held = finalizers.includes(FINALIZER);
      if (held && copy !== undefined && copy.end === undefined) {
        copies.hurry(uid);
        return undefined;
      }
      if (held && copy === undefined) {
        const resumed = await resumeCopy(job, signal);
        copies.hurry(uid);
        if (resumed !== undefined) return resumed;
      }
      forgetDeleted(keyOf(job), job);
      if (!held) return undefined;
      await endCopy(job, { signal, log });
      await adapter.kind.setFinalizer(job, false, signal);
      return undefined;
    },
    async removeParts(job, context) {
      const { uid } = job.metadata;
      if (job.status?.phase !== "Halted") return void withoutParts.delete(uid);
      const type = adapter.typeOfBytes(job);
      if (type === undefined || withoutParts.has(uid) || running.find(uid) !== undefined) return;
      if (await abandonCopies(job, deps.stores, type, context)) withoutParts.add(uid);
    },
  };
}

/** The task that a job leaves behind that is deleted or has failed by its deadline. `answer`: the response that its status does not show. */
function runningTask(job: Job, answer: RequestOutcome | undefined): AbandonedTask | undefined {
  const work = workOf(job);
  if (answer !== undefined) {
    if (answer.kind !== "Accepted" || !("taskID" in answer.accepted)) return undefined;
    const { accepted, record } = answer;
    return { work, account: record.account, taskID: accepted.taskID, submittedAt: Date.parse(record.time) };
  }
  const { phase, account, taskID, submitTime } = job.status ?? {};
  const runs = phase === "Queued" || phase === "Running" || isPastDeadline(job);
  if (!runs || account === undefined || taskID === undefined || submitTime === undefined) return undefined;
  return { work, account, taskID, submittedAt: Date.parse(submitTime) };
}

/** The request can have made a task that no response shows. */
function isUnseen(answer: RequestOutcome | undefined): boolean {
  return answer?.kind === "Unknown" || answer?.kind === "Unusable";
}

/** Answers of requests that surely cost nothing. */
const WITHOUT_EFFECT: readonly (RequestOutcome["kind"] | undefined)[] = ["NotTaken", "Refused", "Withdrawn"];

function releaseOf({ status }: Job, answer: RequestOutcome | undefined): { charged: boolean; unseen: boolean } {
  const unseen = isUnseen(answer) || status?.submission?.state === "Unknown" || status?.phase === "Halted";
  return { charged: !WITHOUT_EFFECT.includes(answer?.kind), unseen };
}

/** Warns when a deleted job may still be charged. `answer`: the response that arrived after the deletion. */
function announceDeleted(
  { recorder, log }: Pick<ControllerDeps, "recorder" | "log">,
  job: Job,
  answer: RequestOutcome | undefined,
): void {
  const note = deletionNote(job, answer);
  if (note === undefined) return;
  recorder.warning(job, "TaskRunsOn", "Delete", note);
  const request = answer?.record ?? job.status?.submission;
  log.warn({ kind: job.kind, key: keyOf(job), uid: job.metadata.uid, request }, note);
}

function deletionNote({ status }: Job, answer: RequestOutcome | undefined): string | undefined {
  const submitted = status?.submission?.state;
  const task = answer?.kind === "Accepted" && "taskID" in answer.accepted ? answer.accepted.taskID : status?.taskID;
  if (task !== undefined && (answer?.kind === "Accepted" || submitted === "Accepted") && status?.phase !== "Storing") {
    return `Deleted after it was submitted: task ${task} continues at the service and is charged`;
  }
  if (isUnseen(answer) || answer?.kind === "Accepted" || submitted === "Unknown" || status?.phase === "Halted") {
    return "Deleted after its request was sent: it may be charged, and its result is lost";
  }
  return undefined;
}
