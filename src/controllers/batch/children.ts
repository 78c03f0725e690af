import type { MediaBatch } from "../../api/v1alpha1/media-batch.ts";
import { isAlreadyExists, isConflict, isNotFound } from "../../kube/errors.ts";
import type { KubeObject } from "../../kube/types.ts";
import { batchOf } from "../jobs/batch-owner.ts";
import type { Job } from "../jobs/types.ts";
import { StalledError } from "../references.ts";
import { childName, hasEnded, jobResourceOf, sentNothing } from "./child.ts";
import type { BatchContext, BatchDeps } from "./deps.ts";
import type { BatchMemory } from "./memory.ts";

/** Requests to the API server at once, of one batch. */
const AT_ONCE = 16;
/** A job that was created so long ago and is not in the store is looked for, ms. */
export const SHOWN_MS = 2_000;

/** The jobs of a batch that the store shows, by index. */
export function childrenOf({ jobsOf }: Pick<BatchDeps, "jobsOf">, { metadata }: MediaBatch): Map<number, Job> {
  const children = new Map<number, Job>();
  for (const job of jobsOf(metadata.uid)) {
    const of = batchOf(job.metadata);
    if (of !== undefined) children.set(of.index, job);
  }
  return children;
}

/** Of indexes without a job in the store, those that surely have none. Asks the API server. */
export async function surelyMissing(
  { shared }: Pick<BatchDeps, "shared">,
  memory: BatchMemory,
  { batch, signal }: BatchContext,
  indexes: readonly number[],
): Promise<number[]> {
  const now = shared.clock.monotonic();
  const old = indexes.filter((index) => now - (memory.created.get(index) ?? Number.NEGATIVE_INFINITY) >= SHOWN_MS);
  const missing: number[] = [];
  await inTurns(old, async (index) => {
    const { namespace, name, uid } = batch.metadata;
    const key = `${namespace}/${childName(name, index)}`;
    const found = await shared.reader.read<Job>(jobResourceOf(batch), key, signal);
    if (found.kind === "NotFound" || (found.kind === "Found" && batchOf(found.object.metadata)?.uid !== uid)) {
      missing.push(index);
    }
  });
  return missing.sort((a, b) => a - b);
}

/**
 * Creates the jobs of items.
 * @returns the indexes whose jobs exist
 * @throws StalledError when another object has the name of a job; KubeError
 */
export async function createChildren(
  { shared }: Pick<BatchDeps, "shared">,
  memory: BatchMemory,
  { batch, account, signal }: BatchContext,
  manifests: ReadonlyMap<number, KubeObject>,
): Promise<number[]> {
  const resource = jobResourceOf(batch);
  const { namespace, uid } = batch.metadata;
  const exist: number[] = [];
  await inTurns([...manifests], async ([index, manifest]) => {
    shared.servers.assertServing(account.key);
    const { name } = manifest.metadata;
    try {
      await shared.kube.create(resource, { namespace }, manifest, { signal });
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      const found = await shared.reader.read<Job>(resource, `${namespace}/${name}`, signal);
      if (found.kind !== "Found") throw error;
      if (batchOf(found.object.metadata)?.uid !== uid) {
        const message = `${resource.kind} ${namespace}/${name} exists, and this batch did not create it: delete it, or give the batch another name`;
        throw new StalledError("JobNameTaken", message);
      }
    }
    memory.created.set(index, shared.clock.monotonic());
    exist.push(index);
  });
  return exist;
}

/** Removes jobs whose end the status shows. */
export async function removeChildren(
  { shared }: Pick<BatchDeps, "shared">,
  memory: BatchMemory,
  { batch, account, signal }: BatchContext,
  jobs: readonly Job[],
): Promise<void> {
  const wanted = jobs.filter(({ metadata }) => !memory.removed.has(metadata.uid));
  await inTurns(wanted, async ({ metadata: { namespace, name, uid } }) => {
    shared.servers.assertServing(account.key);
    const body = { preconditions: { uid }, propagationPolicy: "Background" };
    try {
      await shared.kube.delete(jobResourceOf(batch), { namespace, name }, { signal, body });
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
    memory.removed.add(uid);
  });
}

/**
 * Deletes the jobs of a batch that ends, if nothing was sent for them: they fail. A job that sends something meanwhile stays, because its
 * record changes its version.
 */
export async function withdrawUnsent(
  { shared }: Pick<BatchDeps, "shared">,
  { batch, signal }: BatchContext,
  jobs: Iterable<Job>,
): Promise<void> {
  await inTurns([...jobs].filter(sentNothing), async ({ metadata: { namespace, name, uid, resourceVersion } }) => {
    const body = { preconditions: { uid, resourceVersion }, propagationPolicy: "Background" };
    try {
      await shared.kube.delete(jobResourceOf(batch), { namespace, name }, { signal, body });
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  });
}

/** `spec.suspend` of the batch is that of its unfinished jobs. */
export async function suspendChildren(
  { shared }: Pick<BatchDeps, "shared">,
  { batch, signal }: BatchContext,
  jobs: Iterable<Job>,
): Promise<void> {
  const { suspend } = batch.spec;
  const differ = [...jobs].filter((job) => !hasEnded(job) && (job.spec.suspend ?? false) !== suspend);
  await inTurns(differ, async ({ metadata: { namespace, name, uid } }) => {
    try {
      const patch = { metadata: { uid }, spec: { suspend } };
      await shared.kube.mergePatch(jobResourceOf(batch), { namespace, name }, patch, { signal });
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  });
}

/** Some at a time. After an error, the others that have begun end first. */
async function inTurns<T>(all: readonly T[], work: (one: T) => Promise<void>): Promise<void> {
  let next = 0;
  let failed = false;
  const lane = async () => {
    while (next < all.length && !failed) {
      const one = all[next++] as T;
      await work(one).catch((error: unknown) => {
        failed = true;
        throw error;
      });
    }
  };
  const lanes = await Promise.allSettled(Array.from({ length: Math.min(AT_ONCE, all.length) }, lane));
  for (const lane of lanes) if (lane.status === "rejected") throw lane.reason;
}
