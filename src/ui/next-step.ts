import { BATCH_KIND, ENDPOINT_KIND, JOB_KINDS } from "./row.ts";
import type { UiObject } from "./ui-object.ts";

/** What happens next to the object without anybody doing anything, and when. Undefined: nothing worth a sentence. */
export function nextStepOf(kind: string, state: string, object: UiObject): string | undefined {
  if (state === "Deleting") return "The object goes when Mooring has finished at the service.";
  if (state === "Paused") return "Nothing, until you continue reconciling.";
  if (JOB_KINDS.includes(kind)) return nextOfJob(state, object);
  if (kind === ENDPOINT_KIND) return nextOfEndpoint(state, object);
  if (kind === BATCH_KIND) return nextOfBatch(state, object);
  return undefined;
}

function nextOfJob(state: string, { spec, status }: UiObject): string | undefined {
  const { etaSeconds, nextAttemptTime, resultsExpireAt, completionTime, results = [] } = status ?? {};
  const store = spec.output?.storeRef.name;
  const afterwards = store === undefined ? "the results are shown here" : `the results are copied to ${store}`;
  switch (state) {
    case "Suspended":
      return "Nothing is sent until you resume the job.";
    case "Pending":
      return nextAttemptTime === undefined
        ? "Mooring sends the request when it is the job's turn."
        : `The next attempt is sent at ${nextAttemptTime}.`;
    case "Submitting":
      return "The service answers the request.";
    case "Queued":
    case "Running":
      return etaSeconds === undefined
        ? `The service works on the task. Then ${afterwards}.`
        : `The service expects ${etaSeconds} s more. Then ${afterwards}.`;
    case "Storing":
      return `Mooring copies the results to ${store}.`;
    case "Halted":
      return "Nothing, until you decide: nothing is sent and nothing is paid.";
    case "Succeeded":
      return ended({ ttl: spec.ttlSecondsAfterFinished, completionTime }, expiryOf(resultsExpireAt, results));
    default:
      return ended({ ttl: spec.ttlSecondsAfterFinished, completionTime }, undefined);
  }
}

type Results = NonNullable<NonNullable<UiObject["status"]>["results"]>;

/** A copy does not expire. */
function expiryOf(expiresAt: string | undefined, results: Results): string | undefined {
  if (expiresAt === undefined || results.every(({ artifact }) => artifact !== undefined)) return undefined;
  return `The URL of the result expires at ${expiresAt}: download it, or set output in the next job.`;
}

function ended(
  { ttl, completionTime }: { ttl: number | undefined; completionTime: string | undefined },
  expiry: string | undefined,
): string | undefined {
  const deletedAt =
    ttl === undefined || completionTime === undefined ? undefined : new Date(Date.parse(completionTime) + ttl * 1000);
  const deletion = deletedAt && `The object is deleted at ${deletedAt.toISOString().slice(0, 19)}Z.`;
  const steps = [expiry, deletion].filter((step) => step !== undefined);
  return steps.length === 0 ? undefined : steps.join(" ");
}

function nextOfBatch(state: string, { spec, status }: UiObject): string | undefined {
  const { completionTime, halted = 0, active = 0 } = status ?? {};
  switch (state) {
    case "Suspended":
      return "No item is started until you resume the batch.";
    case "Pending":
      return "All items are checked before the first request is sent.";
    case "Running":
      return halted > 0 && halted === active
        ? "Nothing, until you decide about the halted jobs."
        : `At most ${spec.parallelism} items are worked on at a time. Then the list of results is stored beside them.`;
    default:
      return ended({ ttl: spec.ttlSecondsAfterFinished, completionTime }, undefined);
  }
}

function nextOfEndpoint(state: string, { spec }: UiObject): string | undefined {
  if (state === "Suspended") return "No worker runs until you resume the endpoint.";
  if (state !== "Ready" || spec.workers === undefined) return undefined;
  const { min, idleTimeoutSeconds } = spec.workers;
  return min === 0
    ? `A worker stops after ${idleTimeoutSeconds} s without a request; the next request starts one.`
    : `At least ${min === 1 ? "1 worker runs" : `${min} workers run`} all the time.`;
}
