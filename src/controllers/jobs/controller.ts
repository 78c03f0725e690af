import { ANNOTATIONS } from "../../api/meta.ts";
import type { Reconcile, ReconcileContext, Result } from "../../runtime/controller.ts";
import type { JournalEntry } from "../../runtime/journal.ts";
import type { ServiceError } from "../../service/errors.ts";
import type { AccountHandle, Resolved } from "../account/registry.ts";
import { createValueReader, MissingReferenceError } from "../references.ts";
import { failureOf } from "../service-failure.ts";
import { patchStatus, type Shared, settleGone } from "../shared.ts";
import { afterFinish } from "./finish.ts";
import { type Decision, deadlineOf, decide, stateOf } from "./machine.ts";
import { type JobOutcome, jobResults, jobStatusOf, resultsFrom } from "./status.ts";
import { acceptedFrom, acceptedStatus, submissionOf, submit } from "./submit.ts";
import {
  type Accepted,
  InvalidJobError,
  type Job,
  type JobAdapter,
  type JobStatus,
  type PaidRequest,
} from "./types.ts";

const REFERENCE_RETRY_MS = 15_000;
const REFUSED_RETRY_MS = 5 * 60_000;

type SettledAccount = Exclude<Resolved, { kind: "Checking" }>;

/** What a reconcile leads to: the status, and when to look again. */
type Step = {
  outcome: JobOutcome;
  written?: Partial<JobStatus>;
  /** Journal entry whose outcome `written` holds. */
  settles?: string | undefined;
  requeueAfterMs?: number | undefined;
  /** Thrown once the status is written, for the backoff. */
  error?: unknown;
};

/** Runs the jobs of one kind: decide, act, report. Both kinds share all of it. */
export function createJobReconciler<T extends Job>(shared: Shared, adapter: JobAdapter<T>): Reconcile {
  const { kind } = adapter;
  const { clock, journal } = shared;
  /** Whose tasks are followed, so that a deleted job's task is not polled for ever. */
  const followed = new Map<string, { account: AccountHandle; taskID: string }>();

  function unfollow(key: string): void {
    const known = followed.get(key);
    known?.account.tasks.forget(known.taskID);
    followed.delete(key);
  }

  function follow(key: string, account: AccountHandle, taskID: string, status: JobStatus | undefined): void {
    const known = followed.get(key);
    if (known?.account === account && known.taskID === taskID) return;
    unfollow(key);
    followed.set(key, { account, taskID });
    account.tasks.follow(taskID, status?.submitTime === undefined ? clock.now() : Date.parse(status.submitTime));
  }

  return async ({ key }, context) => {
    const job = kind.store.get(key);
    settleGone(shared, kind, key, job?.metadata.deletionTimestamp === undefined ? job?.metadata.uid : undefined);
    if (job === undefined || job.metadata.deletionTimestamp !== undefined) {
      unfollow(key);
      return undefined;
    }
    const { annotations, namespace = "" } = job.metadata;
    if (job.spec.managedBy !== undefined || annotations?.[ANNOTATIONS.paused] === "true") return undefined;
    const state = stateOf(job.status, unsettled(shared, job));
    if (state.kind === "Finished") {
      unfollow(key);
      return afterFinish(shared, adapter, job, context);
    }
    const resolved = await shared.accounts.resolve(job.spec.accountRef, namespace);
    if (resolved.kind === "Checking") return undefined;
    const token = annotations?.[ANNOTATIONS.resubmitToken];
    const taskID = state.kind === "Submitted" ? state.taskID : undefined;
    const decision = decide({
      spec: job.spec,
      status: job.status,
      state,
      resubmitToken: token === job.status?.lastHandledResubmitToken ? undefined : token,
      observation: taskID === undefined || resolved.kind === "Held" ? undefined : resolved.account.tasks.latest(taskID),
      now: clock.now(),
    });
    const step = await act(job, decision, resolved, token, context);
    if (step === undefined) return undefined;

    const written = { ...adapter.extraStatus(job), ...step.written };
    const status = jobStatusOf(job, written, step.outcome, clock.now());
    await patchStatus(shared, kind, job, status as T["status"], context.signal);
    if (step.settles !== undefined) journal.settle(step.settles);
    if (status.phase === "Succeeded" || status.phase === "Failed") unfollow(key);
    else if (resolved.kind === "Usable" && status.taskID !== undefined && status.submission?.state === "Accepted") {
      follow(key, resolved.account, status.taskID, status);
    }
    announce(shared, job, status);
    if (step.error !== undefined) throw step.error;
    return nextLook(job, status, step, clock.now());
  };

  async function act(
    job: T,
    decision: Decision,
    resolved: SettledAccount,
    token: string | undefined,
    context: ReconcileContext,
  ): Promise<Step | undefined> {
    const now = clock.now();
    switch (decision.do) {
      case "Nothing":
        return undefined;
      case "Suspend":
        return { outcome: { phase: "Suspended" } };
      case "Record":
        return accept(decision.entry, acceptedFrom(decision.outcome), now);
      case "Halt":
        return halt(decision.entry, "the operator ended before it had the answer", now);
      case "Succeed":
        return {
          outcome: { phase: "Succeeded", result: decision.result, results: resultsFrom(decision.result, decision.at) },
        };
      case "Fail":
        return { outcome: { phase: "Failed", ...decision } };
      case "Track": {
        const note = resolved.kind === "Held" ? { reason: resolved.reason, message: resolved.message } : undefined;
        return { outcome: { phase: "Active", result: decision.result, ...(note === undefined ? {} : { note }) } };
      }
      case "Submit": {
        const blocked = blocker(job, resolved);
        if (blocked !== undefined) return blocked;
        if (resolved.kind === "Held") return undefined;
        const entry = journal.find(job.metadata.uid ?? "");
        if (entry !== undefined) journal.settle(entry.id); // Resubmit: what became of it is not waited for
        const step = await pay(job, decision.attempt, resolved.account, context);
        const account = { kind: resolved.ref.kind, name: resolved.ref.name, baseURL: resolved.account.baseURL };
        const handled = token === undefined ? {} : { lastHandledResubmitToken: token };
        return { ...step, written: { ...step.written, account, ...handled } };
      }
    }
  }

  async function pay(job: T, attempt: number, account: AccountHandle, context: ReconcileContext): Promise<Step> {
    let request: PaidRequest;
    try {
      request = await adapter.prepare(job, account, createValueReader(shared.kube, context.signal));
    } catch (error) {
      if (error instanceof InvalidJobError) {
        return { outcome: { phase: "Failed", reason: "InvalidSpec", message: error.message, result: undefined } };
      }
      if (!(error instanceof MissingReferenceError)) throw error;
      const { reason, message } = error;
      return { outcome: { phase: "Pending", reason, message, stalled: true }, requeueAfterMs: REFERENCE_RETRY_MS };
    }
    const submitted = await submit(shared, account, kind, job, attempt, request, context);
    switch (submitted.kind) {
      case "Accepted":
        return accept(submitted.entry, submitted.accepted, clock.now());
      case "Unknown":
        return halt(submitted.entry, submitted.error.message, clock.now());
      case "Refused":
        return refused(submitted.error);
      case "NotNow":
        return notNow(submitted.error, account);
    }
  }

  function accept(entry: JournalEntry, accepted: Accepted, now: number): Step {
    const written = acceptedStatus(entry, accepted, now);
    if ("taskID" in accepted) return { outcome: { phase: "Active", result: undefined }, written, settles: entry.id };
    const results = jobResults([{ kind: "Audio", ...accepted }], now);
    return { outcome: { phase: "Succeeded", result: undefined, results }, written, settles: entry.id };
  }

  function halt(entry: JournalEntry | undefined, cause: string, now: number): Step {
    const message = `The request may have been taken and charged, and nobody can tell (${cause}): look at the service's own records, then release the job with the annotation ${ANNOTATIONS.resubmitToken}=<any new value>, or delete it`;
    return {
      outcome: { phase: "Halted", message },
      written: entry === undefined ? {} : { submission: submissionOf(entry, "Unknown", now), attempts: entry.attempt },
      settles: entry?.id,
    };
  }

  function refused(error: ServiceError): Step {
    const reason = error.kind === "NotEntitled" ? "NotEntitled" : "InvalidSpec";
    const { message } = failureOf(error);
    return { outcome: { phase: "Failed", reason, message, result: undefined } };
  }

  function notNow(error: ServiceError, account: AccountHandle): Step {
    const failure = failureOf(error);
    const { message } = failure;
    switch (failure.kind) {
      case "AccountHeld":
        shared.accounts.unauthorized(account.key, `the service refuses the key: ${message}`);
        return { outcome: { phase: "Pending", reason: "AccountNotReady", message, stalled: false } };
      case "Wait":
        return {
          outcome: { phase: "Pending", reason: failure.reason, message, stalled: false },
          requeueAfterMs: failure.retryAfterMs,
        };
      case "Stalled":
        return {
          outcome: { phase: "Pending", reason: failure.reason, message, stalled: true },
          requeueAfterMs: REFUSED_RETRY_MS,
        };
      case "Retry":
        return { outcome: { phase: "Pending", reason: failure.reason, message, stalled: false }, error };
    }
  }
}

/** What keeps a job from being submitted now. */
function blocker(job: Job, resolved: SettledAccount): Step | undefined {
  const { output } = job.spec;
  if (output !== undefined) {
    const message = `output.storeRef names ArtifactStore ${output.storeRef.name}, which does not exist: create it, or recreate the job without output`;
    return { outcome: { phase: "Pending", reason: "StoreNotReady", message, stalled: true } };
  }
  if (resolved.kind === "Held") {
    const { reason, message } = resolved;
    return { outcome: { phase: "Pending", reason, message, stalled: false } };
  }
  const bound = job.status?.account;
  if (bound !== undefined && job.status?.submission !== undefined && bound.baseURL !== resolved.account.baseURL) {
    const message = `bound to ${bound.baseURL}, but the account now has base URL ${resolved.account.baseURL}: nothing is sent; restore the account's baseURL, or recreate the job`;
    return { outcome: { phase: "Pending", reason: "AccountMismatch", message, stalled: true } };
  }
  return undefined;
}

/** The journal's entry, unless the status shows its outcome already (the operator ended in between). */
function unsettled(shared: Shared, job: Job): JournalEntry | undefined {
  const entry = shared.journal.find(job.metadata.uid ?? "");
  if (entry === undefined || entry.id !== job.status?.submission?.id) return entry;
  shared.journal.settle(entry.id);
  return undefined;
}

function announce(shared: Shared, job: Job, status: JobStatus): void {
  if (job.status?.phase === status.phase) return;
  const { taskID = "", phase } = status;
  if (phase === "Succeeded") {
    shared.recorder.event(job, "Normal", "Completed", "Poll", `Results: ${status.results?.length ?? 0}`);
  } else if (phase === "Failed" || phase === "Halted") {
    const stalled = status.conditions.find(({ type }) => type === "Stalled");
    shared.recorder.event(job, "Warning", stalled?.reason ?? phase, "Submit", stalled?.message ?? phase);
  } else if (phase === "Queued" && job.status?.taskID !== taskID) {
    shared.recorder.event(job, "Normal", "Submitted", "Submit", `Task ${taskID}`);
  }
}

function nextLook(job: Job, status: JobStatus, step: Step, now: number): Result {
  const waits: number[] = step.requeueAfterMs === undefined ? [] : [step.requeueAfterMs];
  if (status.phase === "Succeeded" || status.phase === "Failed") waits.push(0);
  else {
    const deadline = status.taskID === undefined ? undefined : deadlineOf(job.spec, status);
    if (deadline !== undefined) waits.push(Math.max(0, deadline - now));
  }
  return waits.length === 0 ? undefined : { requeueAfterMs: Math.min(...waits) };
}
