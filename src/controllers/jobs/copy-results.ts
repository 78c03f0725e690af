import type { JobResult } from "../../api/v1alpha1/job.ts";
import type { Reason } from "../../api/v1alpha1/reasons.ts";
import { ArtifactError } from "../../artifacts/errors.ts";
import type { ArtifactStoreHandle } from "../../artifacts/types.ts";
import type { Clock } from "../../base/clock.ts";
import { isSameService } from "../../base/service-address.ts";
import { otherTask } from "../../provider/tasks/task-result.ts";
import type { AccountHandle } from "../account/registry.ts";
import { artifactVerdict, messageOf } from "../verdict.ts";
import { recordResults } from "./request-records.ts";
import { keyOfResult } from "./result-key.ts";
import { resultsFrom } from "./tasks.ts";
import type { Block, Copy, CopyEnd, Job } from "./types.ts";

/** The results that the task has now. @throws when it shows none: no answer proves that it never will again */
type Refresh = (signal: AbortSignal) => Promise<JobResult[]>;

/** Where results are copied from and to. */
export type CopyRoute = {
  store: ArtifactStoreHandle;
  lookup: AccountHandle["resultLookup"];
  /** Asks the task for its results again. Undefined: the results are of no task. */
  refresh: Refresh | undefined;
  clock: Clock;
};

/**
 * Copies the results that are not stored yet, one after the other. A URL that has expired, or that the source refuses, is
 * replaced by a fresh one from the task. Never rejects.
 */
export async function copyResults(job: Job, route: CopyRoute, copy: Copy, signal: AbortSignal): Promise<CopyEnd> {
  const urls = createFreshURLs(job.status?.results ?? [], route, signal);
  const { results } = urls;
  const onProgress = ({ bytes, totalBytes }: Pick<Copy, "bytes" | "totalBytes">) => {
    copy.bytes = bytes;
    copy.totalBytes = totalBytes;
  };
  for (const index of results.keys()) {
    try {
      for (let url = await urls.first(index); url !== undefined; ) {
        try {
          const key = keyOfResult(job, index, results[index]?.type);
          const usedBytes = results.reduce((sum, { artifact }) => sum + (artifact?.bytes ?? 0), 0);
          const options = { lookup: route.lookup, signal, usedBytes, urgent: () => copy.urgent, onProgress };
          urls.stored(index, await route.store.copy(url, key, options));
          break;
        } catch (error) {
          url = await urls.instead(index, url, error);
        }
      }
    } catch (error) {
      const expired = Date.parse(results[index]?.expiresAt ?? "") <= route.clock.now();
      const block = blockOf(error, index, { problem: urls.problem(), expired });
      return { kind: "Failed", results, ...block };
    }
  }
  return recordCopied(job, results, route, signal);
}

/** The results are stored. Those that are reused are recorded too, before the job shows them as stored. */
async function recordCopied(
  job: Job,
  results: JobResult[],
  { store, clock }: CopyRoute,
  signal: AbortSignal,
): Promise<CopyEnd> {
  const hash = job.status?.reuseKey;
  try {
    if (hash !== undefined) await recordResults(store, job, { hash, results, now: clock.now() }, signal);
    return { kind: "Stored", results };
  } catch (error) {
    const verdict = error instanceof ArtifactError ? artifactVerdict(error) : undefined;
    const message = `the results are stored, and not yet recorded for the next job with the same request: ${messageOf(error)}`;
    const [reason, stalled]: [Reason, boolean] =
      verdict?.kind === "Stalled" ? [verdict.reason, true] : ["Retrying", false];
    return { kind: "Failed", results, reason, message, stalled };
  }
}

/**
 * Every failed copy is repeated. Stalled: a user must act before it can succeed. `problem`: why the task gave no fresh URL.
 * `expired`: the URL is not valid any more, so a source that fails is not expected to recover.
 */
function blockOf(
  error: unknown,
  index: number,
  { problem, expired }: { problem: string | undefined; expired: boolean },
): Block {
  const also = problem === undefined ? "" : `; the task shows no other URL: ${problem}`;
  const message = `result ${index} is not copied yet: ${messageOf(error)}${also}`;
  const verdict = error instanceof ArtifactError ? artifactVerdict(error) : undefined;
  if (verdict?.kind === "Stalled") return { reason: verdict.reason, message, stalled: true };
  const kind = error instanceof ArtifactError ? error.kind : undefined;
  const sourceFails = kind === "SourceUnreachable" || kind === "SourceChanged";
  if (kind === "SourceGone" || (sourceFails && expired)) return { reason: "ResultUnavailable", message, stalled: true };
  if (kind === "TooLarge") return { reason: "ResultTooLarge", message, stalled: true };
  return { reason: "Retrying", message, stalled: false };
}

/** The URLs of one run of a copy. Asks the task once in a run: before the copy when a URL has expired, or when the source refuses it. */
function createFreshURLs(
  known: readonly JobResult[],
  { refresh, clock }: Pick<CopyRoute, "refresh" | "clock">,
  signal: AbortSignal,
) {
  const results = [...known];
  let asked = false;
  let problem: string | undefined;

  async function ask(): Promise<void> {
    if (asked || refresh === undefined) return;
    asked = true;
    try {
      const fresh = await refresh(signal);
      if (fresh.length !== results.length) throw new Error(`it has ${fresh.length} results, not ${results.length}`);
      for (const [index, { url, address, expiresAt }] of fresh.entries()) {
        const result = results[index];
        if (result === undefined || result.artifact !== undefined) continue;
        results[index] = { ...result, url, address, expiresAt };
      }
    } catch (error) {
      problem = messageOf(error);
    }
  }

  return {
    /** The results with what is known of them by now. */
    results,
    /** Why the task gave no other URL. */
    problem: () => problem,
    /** The result has a copy now. */
    stored(index: number, artifact: NonNullable<JobResult["artifact"]>): void {
      const result = results[index];
      if (result !== undefined) results[index] = { ...result, artifact };
    },
    /** The URL to copy a result from. Undefined: it is stored, or has none. */
    async first(index: number): Promise<string | undefined> {
      const { artifact, expiresAt } = results[index] ?? {};
      if (artifact === undefined && expiresAt !== undefined && Date.parse(expiresAt) <= clock.now()) await ask();
      return artifact === undefined ? sourceOf(results[index]) : undefined;
    },
    /** Another URL after the copy from one has failed. @throws the error of the copy when there is none */
    async instead(index: number, failed: string, error: unknown): Promise<string> {
      if (!isRefused(error)) throw error;
      await ask();
      const fresh = sourceOf(results[index]);
      if (fresh !== undefined && fresh !== failed) return fresh;
      // A URL that does not work is not valid for longer because the task shows it again.
      const before = known[index];
      if (before !== undefined && sourceOf(before) === failed) results[index] = before;
      throw error;
    },
  };
}

/** Where a result is copied from. Each connection is judged again: the account may allow by now what was refused before. */
function sourceOf(result: JobResult | undefined): string | undefined {
  return result?.url ?? result?.address;
}

function isRefused(error: unknown): boolean {
  return error instanceof ArtifactError && error.kind === "SourceGone";
}

/**
 * How to ask the task of a job for its results again: by the account that it was submitted with.
 * @returns undefined for results that come from no task
 */
export function taskRefresh(
  { status }: Job,
  account: Pick<AccountHandle, "tasks" | "baseURL" | "resultLookup">,
): Refresh | undefined {
  const { taskID, submission, account: bound } = status ?? {};
  if (taskID === undefined || submission?.state !== "Accepted") return undefined;
  return async (signal) => {
    if (bound !== undefined && !isSameService(bound.baseURL, account.baseURL)) {
      throw new Error(`the account now has base URL ${account.baseURL}, and the task is of ${bound.baseURL}`);
    }
    const { result, at } = await account.tasks.read(taskID, signal);
    const other = otherTask(result, taskID);
    if (other !== undefined) throw new Error(other);
    const results = resultsFrom(result, at, account.resultLookup);
    if (results.length === 0) throw new Error(`the service shows it as ${result.task.status}, without results`);
    return results;
  };
}
