import type { JobResult } from "../../api/v1alpha1/job.ts";
import { ArtifactError } from "../../artifacts/errors.ts";
import type { Clock } from "../../clock.ts";
import { ServiceError } from "../../provider/errors.ts";
import type { AccountHandle } from "../account/registry.ts";
import { messageOf } from "../verdict.ts";
import { resultsFrom } from "./tasks.ts";
import type { Job } from "./types.ts";

/** The results that a task has now. `Gone`: it has none any more, and will not have any. */
export type FreshResults = { kind: "Results"; results: JobResult[] } | { kind: "Gone" };

/** The URLs of one run of a copy. */
export type FreshURLs = {
  /** The results with what is known of them by now. */
  readonly results: JobResult[];
  /** The URL to copy a result from. Undefined: it is stored, or has none. */
  first(index: number): Promise<string | undefined>;
  /** Another URL after the copy from one has failed. @throws the error of the copy when there is none */
  instead(index: number, failed: string, error: unknown): Promise<string>;
  /** The result has a copy now. */
  stored(index: number, artifact: NonNullable<JobResult["artifact"]>): void;
  /** Why the task could not be asked. */
  problem(): string | undefined;
  /** Whether the service has no other URL to give after this error. */
  exhausted(error: unknown): boolean;
};

/** Asks the task once in a run: before the copy when a URL has expired, or when the source refuses it. */
export function createFreshURLs(
  known: readonly JobResult[],
  { refresh, clock }: { refresh: ((signal: AbortSignal) => Promise<FreshResults>) | undefined; clock: Clock },
  signal: AbortSignal,
): FreshURLs {
  const results = [...known];
  let asked = false;
  let gone = refresh === undefined;
  let problem: string | undefined;

  async function ask(): Promise<void> {
    if (asked || refresh === undefined) return;
    asked = true;
    try {
      const fresh = await refresh(signal);
      gone = fresh.kind === "Gone" || fresh.results.length !== results.length;
      if (fresh.kind === "Gone" || gone) return;
      for (const [index, { url, expiresAt }] of fresh.results.entries()) {
        const result = results[index];
        if (result !== undefined && result.artifact === undefined) results[index] = { ...result, url, expiresAt };
      }
    } catch (error) {
      problem = messageOf(error);
    }
  }

  return {
    results,
    problem: () => problem,
    stored(index, artifact) {
      const result = results[index];
      if (result !== undefined) results[index] = { ...result, artifact };
    },
    // A task that was asked, and whose URL is refused, has nothing else to give.
    exhausted: (error) => problem === undefined && (gone || (asked && isRefused(error))),
    async first(index) {
      const { artifact, expiresAt } = results[index] ?? {};
      if (artifact === undefined && expiresAt !== undefined && Date.parse(expiresAt) <= clock.now()) await ask();
      return artifact === undefined ? results[index]?.url : undefined;
    },
    async instead(index, failed, error) {
      if (!isRefused(error)) throw error;
      await ask();
      const fresh = results[index]?.url;
      if (fresh !== undefined && fresh !== failed) return fresh;
      // A URL that does not work is not valid for longer because the task shows it again.
      const before = known[index];
      if (before?.url === failed) results[index] = before;
      throw error;
    },
  };
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
  account: Pick<AccountHandle, "tasks" | "baseURL">,
): ((signal: AbortSignal) => Promise<FreshResults>) | undefined {
  const { taskID, submission, account: bound } = status ?? {};
  if (taskID === undefined || submission?.state !== "Accepted") return undefined;
  return async (signal) => {
    if (bound !== undefined && bound.baseURL !== account.baseURL) {
      throw new Error(`the account now has base URL ${account.baseURL}, and the task is of ${bound.baseURL}`);
    }
    try {
      const { result, at } = await account.tasks.read(taskID, signal);
      const results = resultsFrom(result, at);
      if (results.length > 0) return { kind: "Results", results };
      return result.task.state === "Succeeded" || result.task.state === "Failed"
        ? { kind: "Gone" }
        : unknownState(result);
    } catch (error) {
      if (error instanceof ServiceError && error.delivery === "Refused" && isGone(error)) return { kind: "Gone" };
      throw error;
    }
  };
}

/** The service does not know the task any more. */
function isGone({ kind }: ServiceError): boolean {
  return kind === "NotFound" || kind === "InvalidRequest";
}

function unknownState({ task }: { task: { status: string } }): never {
  throw new Error(`the service shows the task as ${task.status}`);
}
