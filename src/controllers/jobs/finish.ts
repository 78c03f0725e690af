import { FINALIZER } from "../../api/v1alpha1/meta.ts";
import { isNotFound } from "../../kube/errors.ts";
import type { ReconcileContext, Result } from "../../runtime/controller.ts";
import { patchStatus, type Shared, setFinalizer } from "../shared.ts";
import { expiryOf } from "./expiry.ts";
import type { Job, JobAdapter } from "./types.ts";

/** A finished job changes little more: its URLs are about to run out, they do, and its time to live ends. */
export async function afterFinish<T extends Job>(
  shared: Shared,
  { kind }: Pick<JobAdapter<T>, "kind">,
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
  // The copy is done: nothing holds the object any more.
  const released = await setFinalizer(shared, kind, job, FINALIZER, false, signal);
  const expiry = expiryOf(status, now);
  if (expiry.kind === "Later") waits.push(expiry.atMs - now);
  else if (expiry.kind !== "None") {
    await patchStatus(shared, kind, released, expiry.status as T["status"], signal);
    const reason = expiry.kind === "Warn" ? "Expiring" : "Expired";
    shared.recorder.event(job, "Warning", reason, "Expire", expiry.message);
    if (expiry.nextMs !== undefined) waits.push(expiry.nextMs - now);
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
