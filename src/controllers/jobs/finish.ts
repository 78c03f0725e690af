import { isNotFound } from "../../kube/errors.ts";
import type { ReconcileContext, Result } from "../../runtime/controller.ts";
import { patchStatus, type Shared } from "../shared.ts";
import { expireResults } from "./status.ts";
import type { Job, JobAdapter } from "./types.ts";

/** A finished job changes twice more at most: its URLs run out, and its time to live ends. */
export async function afterFinish<T extends Job>(
  shared: Shared,
  { kind }: JobAdapter<T>,
  job: T,
  { signal }: ReconcileContext,
): Promise<Result> {
  const now = shared.clock.now();
  const { status } = job;
  if (status === undefined) return undefined;
  const { ttlSecondsAfterFinished } = job.spec;
  const waits: number[] = [];
  if (ttlSecondsAfterFinished !== undefined && status.completionTime !== undefined) {
    const endOfLife = Date.parse(status.completionTime) + ttlSecondsAfterFinished * 1000;
    if (now >= endOfLife) {
      await removeFinished(shared, kind, job, signal);
      return undefined;
    }
    waits.push(endOfLife - now);
  }
  const expired = expireResults(status, now);
  if (expired !== undefined) await patchStatus(shared, kind, job, expired as T["status"], signal);
  else if (status.resultsExpireAt !== undefined) {
    const untilExpiry = Date.parse(status.resultsExpireAt) - now;
    if (untilExpiry > 0) waits.push(untilExpiry);
  }
  return waits.length === 0 ? undefined : { requeueAfterMs: Math.min(...waits) };
}

async function removeFinished<T extends Job>(
  shared: Shared,
  kind: JobAdapter<T>["kind"],
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
