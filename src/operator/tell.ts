import { mediaBatchResource, videoJobResource } from "../api/v1alpha1/kinds.ts";
import type { Kind } from "../controllers/controller-deps.ts";
import { batchOf } from "../controllers/jobs/batch-owner.ts";
import { requestIndex } from "../controllers/jobs/request-claims.ts";
import { type JobSources, sourceIndex, sourceOf } from "../controllers/jobs/sources.ts";
import type { Job } from "../controllers/jobs/types.ts";
import type { Resource } from "../kube/resource.ts";
import { keyOf } from "../kube/types.ts";
import type { Indexer } from "../runtime/store.ts";

/** No watch event follows a status that this process writes. So these functions enqueue the objects that wait for the job. */
type Enqueue = (resource: Pick<Resource, "plural">, key: string) => void;

/** Jobs that wait for a request, or have sent it. */
export const byRequest: Indexer<Job> = (job) => {
  const { phase, reuseKey } = job.status ?? {};
  return reuseKey === undefined || phase === "Succeeded" || phase === "Failed" ? [] : [requestIndex(job, reuseKey)];
};

/** The job whose result an unfinished job takes. */
export const bySource: Indexer<Job> = (job) => {
  const source = sourceOf(job);
  return source === undefined ? [] : [sourceIndex(job.metadata.namespace, source)];
};

/** The batch of a job hears that it has ended or is halted. */
export function tellBatch(job: Job | undefined, enqueue: Enqueue): void {
  const batch = job && batchOf(job.metadata);
  if (batch === undefined || !["Succeeded", "Failed", "Halted"].includes(job?.status?.phase ?? "")) return;
  enqueue(mediaBatchResource, `${job?.metadata.namespace}/${batch.name}`);
}

/** Jobs that wait for the results of a request hear that the job that sent it has ended: the same request is of the same kind. */
export function tellWaiting<T extends Job>(
  { resource, store }: Kind<T>,
  { before, after }: { before: T | undefined; after: T | undefined },
  enqueue: Enqueue,
): void {
  const keys = after === undefined ? [] : byRequest(after);
  for (const key of before === undefined ? [] : byRequest(before)) {
    if (!keys.includes(key)) for (const job of store.byIndex("request", key)) enqueue(resource, keyOf(job));
  }
}

/** Jobs that take the result of a job hear that it is in another phase. */
export function tellTakers(
  kind: string,
  { metadata: { name, namespace } }: Job,
  sources: Pick<JobSources, "takers">,
  enqueue: Enqueue,
): void {
  for (const taker of sources.takers(sourceIndex(namespace, { kind, name }))) enqueue(videoJobResource, keyOf(taker));
}
