import { type ConditionUpdate, getCondition, isTrue, setConditions } from "../../api/v1alpha1/conditions.ts";
import { rfc3339 } from "../../base/clock.ts";
import { isNotFound } from "../../kube/errors.ts";
import type { ReconcileContext, Result } from "../../runtime/controller.ts";
import type { ControllerDeps, Kind } from "../controller-deps.ts";
import { observeGeneration } from "../report.ts";
import { callBack } from "./callback.ts";
import type { JobDeps } from "./deps.ts";
import { allStored } from "./status.ts";
import type { Job, JobStatus } from "./types.ts";

/**
 * Reconciles a finished job: sends its callback, deletes it after ttlSecondsAfterFinished, and reports that the URLs of its results expire.
 */
export async function reconcileFinished<T extends Job>(
  deps: JobDeps<T>,
  finished: T,
  { signal }: ReconcileContext,
): Promise<Result> {
  const { shared, adapter } = deps;
  const { kind } = adapter;
  const now = shared.clock.now();
  const { job, isPending, againMs } = await callBack(deps, finished, signal);
  const { status } = job;
  if (status === undefined) return undefined;
  const { ttlSecondsAfterFinished } = job.spec;
  const waits: number[] = againMs === undefined || !isPending ? [] : [againMs];
  if (ttlSecondsAfterFinished !== undefined && status.completionTime !== undefined) {
    const endOfLife = Date.parse(status.completionTime) + ttlSecondsAfterFinished * 1000;
    if (now >= endOfLife && !isPending) {
      await removeFinished(shared, kind, job, signal);
      return undefined;
    }
    if (now < endOfLife) waits.push(endOfLife - now);
  }
  // The copy is done, so the finalizer is not needed any more.
  const released = await kind.setFinalizer(job, false, signal);
  const observed = await observeGeneration(kind, released, signal);
  const expiry = expiryOf(observed.status ?? status, now);
  if (expiry.kind === "Later") waits.push(expiry.atMs - now);
  else if (expiry.kind !== "None") {
    await kind.patchStatus(observed, expiry.status as T["status"], signal);
    const reason = expiry.kind === "Warn" ? "Expiring" : "Expired";
    shared.recorder.warning(job, reason, "Expire", expiry.message);
    if (expiry.nextMs !== undefined) waits.push(expiry.nextMs - now);
  }
  return waits.length === 0 ? undefined : { requeueAfterMs: Math.min(...waits) };
}

async function removeFinished<T extends Job>(
  shared: ControllerDeps,
  kind: Kind<T>,
  job: T,
  signal: AbortSignal,
): Promise<void> {
  const { name, namespace, uid, resourceVersion } = job.metadata;
  const body = { preconditions: { uid, resourceVersion }, propagationPolicy: "Background" };
  try {
    await shared.kube.delete(kind.resource, { namespace, name }, { signal, body });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

/** The share of a URL's lifetime after which the status warns. */
const WARN_AT = 0.75;

export type Expiry =
  | { kind: "None" }
  /** Nothing to report before `atMs` (ms since the epoch). */
  | { kind: "Later"; atMs: number }
  | { kind: "Warn" | "Expired"; status: JobStatus; message: string; nextMs: number | undefined };

/** What to report about the URLs of a finished job: once when a quarter of their lifetime is left, once when they have expired. */
export function expiryOf(status: JobStatus, now: number): Expiry {
  const { resultsExpireAt, completionTime, conditions } = status;
  if (resultsExpireAt === undefined || allStored(status.results) || !isTrue(conditions, "ResultsAvailable")) {
    return { kind: "None" };
  }
  const end = Date.parse(resultsExpireAt);
  if (now >= end) {
    const message = `The URLs expired at ${resultsExpireAt}, and the results are not stored`;
    return { kind: "Expired", status: changed(status, "Expired", message, now), message, nextMs: undefined };
  }
  const start = completionTime === undefined ? end : Date.parse(completionTime);
  const warnAt = Math.min(end, start + (end - start) * WARN_AT);
  if (getCondition(conditions, "ResultsAvailable")?.reason === "Expiring") return { kind: "Later", atMs: end };
  if (now < warnAt) return { kind: "Later", atMs: warnAt };
  const message = `The URLs expire at ${resultsExpireAt}, and the results are not stored: download them before then`;
  return { kind: "Warn", status: changed(status, "Expiring", message, now), message, nextMs: end };
}

function changed(status: JobStatus, reason: "Expiring" | "Expired", message: string, now: number): JobStatus {
  const update: ConditionUpdate = {
    type: "ResultsAvailable",
    status: reason === "Expired" ? "False" : "True",
    reason,
    message,
    observedGeneration: status.observedGeneration,
  };
  return { ...status, conditions: setConditions(status.conditions, [update], rfc3339(now)) };
}
