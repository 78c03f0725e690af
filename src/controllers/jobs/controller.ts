import { ANNOTATIONS, FINALIZER } from "../../api/v1alpha1/meta.ts";
import type { Reconcile, ReconcileContext, Result } from "../../runtime/controller.ts";
import type { JournalEntry } from "../../submission/journal.ts";
import { settleGone } from "../../submission/settle.ts";
import type { AccountHandle } from "../account/registry.ts";
import { patchStatus, type Shared, setFinalizer } from "../shared.ts";
import { abandonCopies, copyResults, keyOfResult } from "./copies.ts";
import { announce, announceGone } from "./events.ts";
import { afterFinish } from "./finish.ts";
import { decide } from "./machine.ts";
import { deadlineOf, type Seen } from "./observations.ts";
import { type JobWiring, type Sight, see } from "./see.ts";
import { type JobState, stateOf } from "./states.ts";
import { jobStatusOf } from "./status.ts";
import type { Step } from "./steps.ts";
import { submit } from "./submit.ts";
import { type Job, type JobAdapter, workOf } from "./types.ts";

/** Runs the jobs of one kind: see, decide, act, report. Both kinds share all of it; `machine.ts` has the table. */
export function createJobReconciler<T extends Job>(
  shared: Shared,
  adapter: JobAdapter<T>,
  wiring: JobWiring,
  enqueue: (key: string) => void,
): Reconcile {
  const { kind } = adapter;
  const { admission, clock, journal } = shared;
  const { running, copies } = wiring;
  /** Jobs that are not finished, as they were seen last: who was deleted, and whose task goes on. */
  const known = new Map<string, T>();
  /** Whose tasks are followed, so that a deleted job's task is not polled for ever. */
  const followed = new Map<string, { account: AccountHandle; taskID: string }>();
  /** Halted jobs, by UID, of whose bytes surely nothing is left in the store. */
  const tidied = new Set<string>();

  return async ({ key }, context) => {
    const job = kind.store.get(key);
    const last = known.get(key);
    if (last !== undefined && last.metadata.uid !== job?.metadata.uid) gone(key, last);
    if (last === undefined || running.find(last.metadata.uid ?? "") === undefined) {
      const present = job?.metadata.deletionTimestamp === undefined ? job?.metadata.uid : undefined;
      settleGone(shared, { kind: kind.resource.kind, key }, present);
    }
    if (job === undefined) return undefined;
    if (job.metadata.deletionTimestamp !== undefined) return leave(key, job, context);
    if (job.spec.managedBy !== undefined || job.metadata.annotations?.[ANNOTATIONS.paused] === "true") {
      unfollow(key);
      admission.withdraw(job.metadata.uid ?? "");
      return undefined;
    }
    return work(key, await acknowledge(key, job, context), context);
  };

  async function work(key: string, job: T, context: ReconcileContext): Promise<Result> {
    const { uid = "" } = job.metadata;
    const state = stateOf(job.status, unsettled(shared, job), running.find(uid) !== undefined);
    if (state.kind === "Succeeded" || state.kind === "Failed") {
      finished(key, uid);
      return afterFinish(shared, adapter, job, context);
    }
    known.set(key, job);
    if (state.kind === "Tracking") await follow(key, job, state.taskID);
    const sight = await see(shared, wiring, adapter, job, state, () => enqueue(key), context.signal);
    if (sight === undefined) return undefined;
    const { seen } = sight;
    if (seen.kind !== "NotAdmitted" && seen.kind !== "Clear") admission.withdraw(uid);
    const step = decide(state, seen, { job, now: clock.now() });
    if (step.send !== undefined) begin(key, job, state, step.send, sight);
    if (step.copy === true) await beginCopy(key, job, sight, context);
    const after = await report(job, step, context);
    settle(uid, seen);
    if ((after ?? job).status?.phase === "Halted") await tidy(after ?? job, context);
    else tidied.delete(uid);
    if (after === undefined) return nextLook(job, step, clock.now());
    announce(shared, job, after.status);
    // Our own write is no change to be told of: what it leads to begins here.
    const next = stateOf(after.status, undefined, false);
    if (next.kind === "Succeeded" || next.kind === "Failed") finished(key, uid);
    else known.set(key, after);
    if (next.kind === "Tracking") await follow(key, after, next.taskID);
    else unfollow(key);
    return nextLook(after, step, clock.now());
  }

  /** Writes the status of a step that has one. */
  async function report(job: T, step: Step, { signal }: ReconcileContext): Promise<T | undefined> {
    if (step.outcome === undefined) return undefined;
    const written = { ...adapter.extraStatus(job), ...step.written };
    const status = jobStatusOf(job, { written, cleared: step.cleared }, step.outcome, clock.now());
    return patchStatus(shared, kind, job, status as T["status"], signal);
  }

  /** What came of a request or a copy stands in the status: it need not be kept any longer. */
  function settle(uid: string, seen: Seen): void {
    const entry = entryOf(seen);
    if (entry !== undefined) journal.settle(entry.id);
    // What was seen before the answer came does not stand for it, although the answer may be here by now.
    const early = seen.kind === "UnderWay" || seen.kind === "Clear";
    if (!early && running.find(uid)?.answer !== undefined) running.forget(uid);
    if (["Accepted", "Results", "ResultsToStore"].includes(seen.kind)) running.resetBackoff(uid);
    const charged = RELEASES_SLOT[seen.kind];
    if (charged !== undefined) admission.release(uid, { charged });
    if (seen.kind === "Stored" || seen.kind === "ResultsLost") copies.forget(uid, false);
    else if (seen.kind === "CopyFailed") copies.forget(uid, true);
  }

  function begin(key: string, job: T, state: JobState, request: NonNullable<Step["send"]>, sight: Sight): void {
    const { account, store } = sight;
    const { uid = "" } = job.metadata;
    if (account === undefined || state.kind !== "Waiting") throw new Error("a request needs an account and an attempt");
    const ref = account.key.split("/");
    const bound = {
      kind: ref[0] === "Account" ? ("Account" as const) : ("ClusterAccount" as const),
      name: ref.at(-1) ?? "",
      baseURL: account.baseURL,
    };
    const target = store?.kind === "Usable" ? store.store : undefined;
    running.begin(
      uid,
      () => enqueue(key),
      async (progress, signal) => {
        const answer = await submit(shared, {
          kind,
          job,
          attempt: state.attempt,
          account,
          bound,
          request,
          openArtifact: target && ((type) => target.writer(keyOfResult(job, 0, type), { signal })),
          onSent: progress.sent,
          onFirstAudio: progress.firstAudio,
          signal,
        });
        if (answer.kind === "NotTaken") running.backOff(uid, answer.retryAfterMs);
        return answer;
      },
    );
  }

  /** What came before a submission became unknown is of no use; a process that was killed could not remove it. */
  async function tidy(job: T, { signal, log }: ReconcileContext): Promise<void> {
    const { uid = "" } = job.metadata;
    const type = adapter.typeOfBytes(job);
    if (type === undefined || tidied.has(uid) || running.find(uid) !== undefined) return;
    if (await abandonCopies(job, type, wiring.stores, signal, log)) tidied.add(uid);
  }

  async function beginCopy(
    key: string,
    job: T,
    { account, store }: Sight,
    { signal }: ReconcileContext,
  ): Promise<void> {
    if (store?.kind !== "Usable" || account === undefined) throw new Error("a copy needs a store and an account");
    await setFinalizer(shared, kind, job, FINALIZER, true, signal);
    copies.begin(
      job.metadata.uid ?? "",
      () => enqueue(key),
      (copy, ending) => copyResults(job, store.store, account.resultLookup, copy, ending),
    );
  }

  /** A finalizer holds a deleted job only while its copy runs: what was paid for is kept. */
  async function leave(key: string, job: T, { signal, log }: ReconcileContext): Promise<Result> {
    const { uid = "", finalizers = [] } = job.metadata;
    const copy = copies.find(uid);
    const held = finalizers.includes(FINALIZER);
    if (held && copy !== undefined && copy.end === undefined) return undefined;
    gone(key, job);
    if (!held) return undefined;
    if (copy?.end?.kind === "Stored") {
      const uris = copy.end.results.flatMap(({ artifact }) => artifact?.uri ?? []).join(", ");
      shared.recorder.event(job, "Normal", "Stored", "Delete", `The results are kept at ${uris}`);
    } else await abandonCopies(job, undefined, wiring.stores, signal, log);
    copies.forget(uid, false);
    await setFinalizer(shared, kind, job, FINALIZER, false, signal);
    return undefined;
  }

  function gone(key: string, job: T): void {
    const { uid = "" } = job.metadata;
    const request = running.find(uid);
    unfollow(key);
    tidied.delete(uid);
    running.resetBackoff(uid);
    admission.withdraw(uid);
    if (request !== undefined && request.answer === undefined) return; // its answer brings the reconcile that goes on here
    admission.release(uid, { charged: job.status?.submission !== undefined || request?.sent === true });
    if (known.delete(key)) announceGone(shared, job, request?.answer);
    running.forget(uid);
  }

  function finished(key: string, uid: string): void {
    unfollow(key);
    known.delete(key);
    running.resetBackoff(uid);
    // A status write whose response was lost ends here without the step that settles it.
    if (running.find(uid)?.answer !== undefined) running.forget(uid);
    admission.release(uid, { charged: true });
  }

  /** A wish to be looked at now: the task is asked about at once, and the wish is echoed. */
  async function acknowledge(key: string, job: T, { signal }: ReconcileContext): Promise<T> {
    const { annotations } = job.metadata;
    const asked = annotations?.[ANNOTATIONS.reconcileRequestedAt] ?? annotations?.[ANNOTATIONS.fluxRequestedAt];
    if (asked === undefined || asked === job.status?.lastHandledReconcileAt) return job;
    const task = followed.get(key);
    task?.account.tasks.pollNow(task.taskID);
    const status = { ...(job.status ?? { conditions: [] }), lastHandledReconcileAt: asked };
    return patchStatus(shared, kind, job, status as T["status"], signal);
  }

  function unfollow(key: string): void {
    const one = followed.get(key);
    one?.account.tasks.forget(one.taskID);
    followed.delete(key);
  }

  async function follow(key: string, job: T, taskID: string): Promise<void> {
    const resolved = await shared.accounts.resolve(job.spec.accountRef, job.metadata.namespace ?? "");
    if (
      resolved.kind !== "Usable" ||
      resolved.account.baseURL !== (job.status?.account?.baseURL ?? resolved.account.baseURL)
    ) {
      if (resolved.kind === "Usable") unfollow(key);
      return;
    }
    const one = followed.get(key);
    admission.running(resolved.account.key, workOf(job));
    if (one?.account === resolved.account && one.taskID === taskID) return;
    unfollow(key);
    followed.set(key, { account: resolved.account, taskID });
    const { submitTime } = job.status ?? {};
    resolved.account.tasks.follow(taskID, submitTime === undefined ? clock.now() : Date.parse(submitTime));
  }
}

/** The journal's entry, unless the status shows its outcome already (the operator ended in between). */
function unsettled(shared: Shared, job: Job): JournalEntry | undefined {
  const entry = shared.journal.find(job.metadata.uid ?? "");
  if (entry === undefined || entry.id !== job.status?.submission?.id) return entry;
  shared.journal.settle(entry.id);
  return undefined;
}

/** Observations after which a job has no task in flight and asks for none now. `true`: something can have been charged. */
const RELEASES_SLOT: { readonly [K in Seen["kind"]]?: boolean } = {
  Suspended: false,
  InvalidSpec: false,
  NotTaken: false,
  Withdrawn: false,
  Refused: false,
  PastDeadline: true,
  Results: true,
  ResultsToStore: true,
  NoResults: true,
  TaskFailed: true,
  TaskFailedRetry: true,
  Unknown: true,
  UnknownButResubmit: true,
};

function entryOf(seen: Seen): JournalEntry | undefined {
  if ("entry" in seen) return seen.entry;
  return "submitted" in seen ? seen.submitted?.entry : undefined;
}

function nextLook({ spec, status }: Job, step: Step, now: number): Result {
  const waits: number[] = step.againMs === undefined ? [] : [step.againMs];
  if (status?.phase === "Succeeded" || status?.phase === "Failed") waits.push(0);
  else {
    const deadline = deadlineOf(spec, status);
    if (deadline !== undefined && status?.phase !== "Halted") waits.push(Math.max(0, deadline - now));
  }
  return waits.length === 0 ? undefined : { requeueAfterMs: Math.min(...waits) };
}
