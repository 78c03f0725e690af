import type { JobResult } from "../../api/v1alpha1/job.ts";
import { rfc3339 } from "../../clock.ts";
import { type ResultKind, resultsOf, type TaskOutput, type TaskResult } from "../../provider/tasks/task-result.ts";

/** Lifetime of a URL when the service gives none (interface: "Speech URL validity: 24 hours"). */
export const DEFAULT_TTL_SECONDS = 24 * 3600;

/** `at`: when the service returned the URLs, ms since the epoch. */
export function jobResults(outputs: ({ kind: ResultKind } & TaskOutput)[], at: number): JobResult[] {
  return outputs.map(({ kind, url, type, ttlSeconds }) => ({
    kind,
    url,
    type,
    expiresAt: rfc3339(at + (ttlSeconds ?? DEFAULT_TTL_SECONDS) * 1000),
  }));
}

/** All results of a task that have a URL. */
export function resultsFrom(result: TaskResult, at: number): JobResult[] {
  return jobResults(resultsOf(result), at);
}
