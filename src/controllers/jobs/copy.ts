import { accountOfResources, boundKey } from "../account/binding.ts";
import { type Resolved, refOf } from "../account/registry.ts";
import {
  blocked,
  type JobContext,
  type Observation,
  type ObserveContext,
  type Observed,
  storeOf,
} from "./observations.ts";
import type { Step } from "./steps.ts";
import type { Block, Job } from "./types.ts";

/** How often the status shows the progress of a copy. */
const SHOW_COPY_MS = 15_000;
/** Re-check interval for a blocked copy, because no event announces that the URLs expire. */
const BLOCKED_COPY_MS = 5 * 60_000;

// Steps

export function beginCopy({ results, result }: Observation<"NotCopying">): Step {
  return { copy: { results, result } };
}

/** The end of the copy wakes the job. */
export function awaitCopy(): Step {
  return {};
}

export function showCopy({ note }: Observation<"Copying">, context: JobContext): Step {
  return storing(context, { reason: "Storing", message: note, stalled: false }, SHOW_COPY_MS);
}

/** Only the copy is repeated: another paid request would make another result. */
export function showFailedCopy({ results, reason, message, stalled }: Observation<"CopyFailed">): Step {
  return { outcome: { phase: "Storing", result: undefined, results, reason, message, stalled }, againMs: 0 };
}

export function showBlockedCopy({ reason, message, stalled }: Observation<"Blocked">, context: JobContext): Step {
  return storing(context, { reason, message, stalled }, BLOCKED_COPY_MS);
}

function storing({ job }: JobContext, block: Block, againMs: number): Step {
  const results = job.status?.results ?? [];
  return { outcome: { phase: "Storing", result: undefined, results, ...block }, againMs };
}

// Observations

/** The copy of the results, or why it waits. Undefined: not known yet. */
export function observeCopy<T extends Job>(context: ObserveContext<T>): Observed | undefined {
  const { deps, job, now } = context;
  const { uid } = job.metadata;
  const copy = deps.copies.find(uid);
  if (copy?.end !== undefined) {
    const { end } = copy;
    if (end.kind === "Stored") return { observation: { kind: "Stored", results: end.results } };
    const lost = resultsLost(context, end.message, end.results);
    return { observation: lost ?? { ...end, kind: "CopyFailed" } };
  }
  if (copy !== undefined) return { observation: { kind: "Copying", note: copyNote(copy.bytes, copy.totalBytes) } };

  const until = deps.copies.backoffUntil(uid);
  if (until !== undefined && until > now) return { observation: { kind: "BackingOff", until } };
  const store = storeOf(context);
  if (store?.kind === "Checking") return undefined;
  if (store?.kind === "Held") return blockedCopy(context, { reason: store.reason, message: store.message });
  const account = accountOfResults(context);
  if (account.kind === "Checking") return undefined;
  if (account.kind === "Held") return blockedCopy(context, { reason: "AccountNotReady", message: account.message });
  return { observation: { kind: "NotCopying", results: job.status?.results ?? [] }, account: account.account, store };
}

function blockedCopy(context: JobContext, cause: Omit<Block, "stalled">): Observed {
  const lost = resultsLost(context, cause.message);
  return lost === undefined ? blocked({ ...cause, stalled: true }) : { observation: lost };
}

/**
 * The URLs have expired, and nothing is stored. The results of a task are never lost: the task can show other URLs
 * later. `cause`: why the copy failed.
 */
function resultsLost(
  { job, now }: JobContext,
  cause: string,
  results = job.status?.results ?? [],
): Observation<"ResultsLost"> | undefined {
  if (job.status?.taskID !== undefined) return undefined;
  const expiries = results.flatMap(({ artifact, expiresAt }) => (artifact === undefined ? (expiresAt ?? []) : []));
  const expireAt = expiries.sort()[0];
  if (expireAt === undefined || now < Date.parse(expireAt)) return undefined;
  const message = `The results expired at ${expireAt} before they were copied (${cause}): create a new ${job.kind} to make them again`;
  return { kind: "ResultsLost", reason: "NoResult", message };
}

/** The account that made the results. It limits the addresses that are read, also while its key or budget holds it. */
function accountOfResults<T extends Job>({ deps, job }: ObserveContext<T>): Resolved {
  const { accounts } = deps.shared;
  const key = boundKey(job);
  const handle = key === undefined ? undefined : accounts.get(key)?.handle;
  if (handle !== undefined) return { kind: "Usable", account: handle, ref: refOf(handle.key) };
  return accounts.resolveCleanup(accountOfResources(job), job.metadata.namespace);
}

function copyNote(bytes: number, totalBytes: number | undefined): string {
  if (bytes === 0) return "Copying the results to the store";
  const mib = (value: number) => `${Math.round(value / 2 ** 20)} MiB`;
  return `Copying the results to the store: ${mib(bytes)}${totalBytes === undefined ? "" : ` of ${mib(totalBytes)}`}`;
}
