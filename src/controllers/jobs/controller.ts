import { PENDING_STATUS } from "../../api/v1alpha1/meta.ts";
import { KubeError } from "../../kube/errors.ts";
import { keyOf } from "../../kube/types.ts";
import type { ReconcileContext, Result, SharedReconciler } from "../../runtime/controller.ts";
import { submissionOf } from "../../submission/record.ts";
import { costOf, recordUsage } from "../billing/object-cost.ts";
import type { ControllerDeps, Kind } from "../controller-deps.ts";
import { createReconciler, isPaused } from "../reconciler.ts";
import { observeGeneration } from "../report.ts";
import { createWholeObjects } from "../whole-object.ts";
import { callbackAtEnd } from "./callback.ts";
import { startCopy } from "./copies.ts";
import type { JobDeps, JobWiring } from "./deps.ts";
import { announce } from "./events.ts";
import { createLiveJobs } from "./finish.ts";
import { reconcileFinished } from "./finished.ts";
import { handledAtHalt } from "./halt.ts";
import { deadlineOf, type JobState, type Observed, openRecordOf, stateOf } from "./observations.ts";
import { observe } from "./observe.ts";
import { jobStatusOf, type StatusChange } from "./status.ts";
import { startRequest, type WriteRecord } from "./submit.ts";
import { createTaskFollower } from "./tasks.ts";
import { decide, type Transition } from "./transitions.ts";
import type { Job, JobAdapter, JobStatus } from "./types.ts";

/** Reconciles the jobs of one kind: observe, decide, apply, report. `transitions.ts` has the table of states. */
export function createJobReconciler<T extends Job>(
  shared: ControllerDeps,
  adapter: JobAdapter<T>,
  wiring: JobWiring,
  enqueue: (key: string) => void,
): SharedReconciler<T> {
  const { kind } = adapter;
  const tasks = createTaskFollower(shared);
  const wholes = createWholeObjects<T>(shared.reader, kind);
  const deps: JobDeps<T> = { ...wiring, shared, adapter, tasks, wholes, wake: (job) => enqueue(keyOf(job)) };
  const live = createLiveJobs(deps);
  const referenceKey = (key: string) => `${kind.resource.plural}:${key}`;
  const callbackKey = (key: string) => `${kind.resource.kind}:${key}`;
  const run = createReconciler<T>({ kind, clock: shared.clock, finalize: live.finalize, pause, reconcile });

  return {
    async reconcile(request, context) {
      const present = kind.store.get(request.key);
      await live.forgetFormer(request.key, present, context);
      wiring.callbacks.forgetFormer(callbackKey(request.key), present?.metadata.uid);
      if (present === undefined) shared.references.forget(referenceKey(request.key));
      return run(request, context);
    },
    underWay({ metadata: { uid } }) {
      const request = wiring.running.find(uid);
      if (request !== undefined) return request.answer === undefined ? "Request" : "Outcome";
      return wiring.copies.find(uid) === undefined ? undefined : "Copy";
    },
    forget(key) {
      shared.references.forget(referenceKey(key));
      live.forgetServed(key);
      wiring.callbacks.forgetFormer(callbackKey(key), undefined);
    },
  };

  /** Nothing is sent, polled or copied. The status still gets the outcome of what was under way. */
  async function pause(stored: T, context: ReconcileContext): Promise<Result> {
    const job = await withoutUnsent(deps, stored, context);
    const { uid } = job.metadata;
    shared.references.forget(referenceKey(keyOf(job)));
    shared.admission.withdraw(uid);
    const state = stateNow(job);
    await follow(job, state);
    const copied = deps.copies.find(uid)?.end !== undefined;
    return state.kind === "Sending" || copied ? advance(job, state, context) : undefined;
  }

  function stateNow(job: T): JobState {
    const isSending = deps.running.find(job.metadata.uid) !== undefined;
    return stateOf(job.status, isSending ? undefined : openRecordOf(job, shared.identity), isSending);
  }

  async function reconcile(stored: T, requested: string | undefined, context: ReconcileContext): Promise<Result> {
    if (stored.spec.managedBy !== undefined) return pause(stored, context);
    const shown = await withoutUnsent(deps, stored, context);
    const job = requested === undefined ? shown : await acknowledge(deps, shown, requested, context);
    const state = stateNow(job);
    await follow(job, state);
    if (isFinished(state)) return reconcileFinished(deps, job, context);

    try {
      return await advance(job, state, context);
    } finally {
      wiring.running.vacate(job.metadata.uid);
      if (wiring.running.find(job.metadata.uid) === undefined) wiring.claims.release(job.metadata.uid);
      shared.taskOwners.release(job.metadata.uid);
    }
  }

  async function advance(job: T, state: JobState, context: ReconcileContext): Promise<Result> {
    const observedAt = shared.clock.now();
    const observed = await observe(deps, job, state, context.signal);
    if (observed === undefined) return undefined;
    const transition = decide(state, observed.observation, { job, now: shared.clock.now() });
    shared.references.track(referenceKey(keyOf(job)), transition.waitsFor ?? [], { waits: true });
    const after = await report(deps, job, transition, context.signal);
    const write: WriteRecord<T> = (stored, step, signal) => report(deps, stored, step, signal);
    await apply(deps, after, { observed, transition, write }, context);
    settle(deps, job.metadata.uid, transition);

    if (!isHeld(job)) await live.removeParts(after, context);
    // Our own status write triggers no reconcile, so its consequences start here.
    if (transition.outcome !== undefined) await follow(after, stateNow(after));
    return nextReconcile(after, transition, { observedAt, now: shared.clock.now() });
  }

  /** Polls the task of a job that has one and is not held, and of no other. Without a request or a task the job has no slot of one. */
  async function follow(job: T, state: JobState): Promise<void> {
    if (isFinished(state)) return live.finish(job);
    live.track(job);
    if (state.kind === "Tracking" && deps.copies.find(job.metadata.uid) !== undefined) return; // it keeps its slot
    if (state.kind === "Tracking" && !isHeld(job)) return tasks.follow(job, state.taskID);
    tasks.forget(job);
    if (state.kind === "Tracking") return;
    const { uid } = job.metadata;
    if (state.kind !== "Sending" && !shared.abandoned.has(uid)) shared.admission.taskEnded(uid);
  }
}

/** Writes the status and the events of a transition that changes the status. Returns the written job. */
async function report<T extends Job>(
  { shared, adapter, metrics }: JobDeps<T>,
  job: T,
  transition: Reported,
  signal: AbortSignal,
): Promise<T> {
  const { kind } = adapter;
  const { outcome, written, cleared } = transition;
  if (outcome === undefined) {
    const observed = await observeGeneration(kind, job, signal);
    if (written === undefined) return observed;
    return kind.patchStatus(observed, { ...PENDING_STATUS, ...observed.status, ...written } as T["status"], signal);
  }
  const ended = outcome.phase === "Succeeded" || outcome.phase === "Failed";
  const own: Partial<JobStatus> = {
    ...written,
    ...(await costOf(shared, job, { ...written, ended })),
    ...(ended ? callbackAtEnd(shared, job) : {}),
  };
  const change: StatusChange = {
    written: { ...adapter.extraStatus(job), ...own },
    cleared: [...(cleared ?? []), "estimatedCost"],
  };
  const status = jobStatusOf(job, change, outcome, shared.clock.now());
  const after = await writeOutcome(kind, job, status, signal);
  recordUsage(shared, kind.resource.kind, { before: job, after });
  announce(shared, job, after.status);
  metrics?.moved(kind.resource.kind, job, after.status);
  return after;
}

/**
 * Writes a whole status. When the API server refuses it, what the service accepted is written alone: a request that cost something is
 * never forgotten. Without a task, the job counts as halted until the whole status is stored, so that no process sends it again.
 */
async function writeOutcome<T extends Job>(kind: Kind<T>, job: T, status: JobStatus, signal: AbortSignal): Promise<T> {
  try {
    return await kind.patchStatus(job, status as T["status"], signal);
  } catch (error) {
    const accepted = isRefusedStatus(error) ? acceptedOf(job, status) : undefined;
    if (accepted === undefined) throw error;
    const after = await kind.patchStatus(job, { ...job.status, ...accepted } as T["status"], signal);
    if (accepted.taskID === undefined) throw error;
    return after;
  }
}

/**
 * A record of this process that is not under way was not sent. The status says so at once: to the next process, it would be a request
 * that may have been sent.
 */
async function withoutUnsent<T extends Job>(
  { shared, adapter, running }: JobDeps<T>,
  job: T,
  { signal }: ReconcileContext,
): Promise<T> {
  const { submission } = job.status ?? {};
  if (submission?.state !== "Intended" || submission.sender !== shared.identity) return job;
  if (running.find(job.metadata.uid) !== undefined) return job;
  const status = { ...job.status, submission: submissionOf(submission, "NotSent", shared.clock.now()) };
  return adapter.kind.patchStatus(job, status as T["status"], signal);
}

/** A reconcile request polls the task at once. */
async function acknowledge<T extends Job>(
  { adapter, tasks }: JobDeps<T>,
  job: T,
  requested: string,
  { signal }: ReconcileContext,
): Promise<T> {
  tasks.pollNow(job);
  const status = { ...(job.status ?? { conditions: [] }), lastHandledReconcileAt: requested };
  return adapter.kind.patchStatus(job, status as T["status"], signal);
}

/** The API server does not store a status of this size or content. */
function isRefusedStatus(error: unknown): boolean {
  return error instanceof KubeError && (error.status === 413 || error.status === 422);
}

/** What identifies the request that the service has just accepted. Undefined: it has accepted none. */
function acceptedOf(job: Job, status: JobStatus): Partial<JobStatus> | undefined {
  const { submission, taskID, attempts, submitTime, firstSubmitTime } = status;
  if (submission?.state !== "Accepted" || job.status?.submission?.state !== "Intended") return undefined;
  const accepted = { submission, attempts, submitTime, firstSubmitTime };
  return taskID === undefined ? { ...accepted, ...handledAtHalt(job), phase: "Halted" } : { ...accepted, taskID };
}

/** What a status shows of a transition. */
type Reported = Pick<Transition, "outcome" | "written" | "cleared">;

/** Mooring starts nothing for the job: it is paused, or another controller manages it. */
function isHeld(job: Job): boolean {
  return isPaused(job) || job.spec.managedBy !== undefined;
}

function isFinished({ kind }: JobState): boolean {
  return kind === "Succeeded" || kind === "Failed";
}

/**
 * The earlier of the transition's own time and the deadline, which may have passed since the job was observed; at once for a job that
 * has just finished.
 */
function nextReconcile(job: Job, { againMs, outcome }: Transition, times: { observedAt: number; now: number }): Result {
  if (outcome?.phase === "Succeeded" || outcome?.phase === "Failed") return { requeueAfterMs: 0 };
  const deadline = deadlineOf(job);
  const waits = againMs === undefined ? [] : [againMs];
  // A deadline that had passed before is the step's concern, if it matters at all.
  if (deadline !== undefined && deadline > times.observedAt && job.status?.phase !== "Halted") {
    waits.push(Math.max(0, deadline - times.now));
  }
  return waits.length === 0 ? undefined : { requeueAfterMs: Math.min(...waits) };
}

type Applied<T extends Job> = { observed: Observed; transition: Transition; write: WriteRecord<T> };

/**
 * Does what a transition asks for: starts the paid request or the copy, which run beside the reconciles, or polls the task.
 * `job`: with the status of the transition.
 */
async function apply<T extends Job>(
  deps: JobDeps<T>,
  job: T,
  { observed, transition, write }: Applied<T>,
  { signal }: ReconcileContext,
): Promise<void> {
  // A job that does not want to send now gives back its slot, or its position in the queue. A sent request keeps its slot.
  if (transition.asksForSlot !== true) deps.shared.admission.withdraw(job.metadata.uid);
  if (transition.send !== undefined) startRequest(deps, job, observed, { ...transition.send, write });
  if (transition.pollAfter !== undefined) deps.tasks.pollAfter(job, transition.pollAfter);
  if (transition.copy !== undefined) await startCopy(deps, job, { ...observed, ...transition.copy }, signal);
}

/** Forgets what the status shows by now: the response, the slot and the end of the copy. */
function settle<T extends Job>({ shared, running, copies }: JobDeps<T>, uid: string, transition: Transition): void {
  const { awaitsResponse, resetsBackoff, releasesSlot, endsCopy } = transition;
  if (awaitsResponse !== true && running.find(uid)?.answer !== undefined) running.forget(uid);
  if (resetsBackoff === true) running.resetBackoff(uid);
  if (releasesSlot !== undefined) {
    shared.admission.release(uid, { charged: releasesSlot !== "Uncharged", unseen: releasesSlot === "Unseen" });
  }
  if (endsCopy !== undefined) copies.forget(uid, endsCopy === "Failed");
}
