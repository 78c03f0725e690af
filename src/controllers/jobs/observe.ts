import { type AccountHandle, accountKey, type Resolved } from "../account/registry.ts";
import type { ResolvedStore } from "../artifact-store/registry.ts";
import { createValueReader, MissingReferenceError } from "../references.ts";
import { verdictOf } from "../verdict.ts";
import { requestSlot, workOf } from "./admission.ts";
import type { JobDeps } from "./deps.ts";
import {
  type Block,
  type Facts,
  type Observation,
  type ObservationIn,
  observeAccepted,
  observeHalted,
  observeTask,
  observeUnknown,
  pastDeadline,
} from "./observations.ts";
import type { JobState } from "./states.ts";
import { type Answer, acceptedFrom } from "./submit.ts";
import { withoutSecrets } from "./task-texts.ts";
import { accountOfTask } from "./tasks.ts";
import { InvalidJobError, type Job, resubmitTokenOf } from "./types.ts";

/** An observation, with the account and the store that its step uses. */
export type Observed = { observation: Observation; account?: AccountHandle; store?: ResolvedStore | undefined };

type Context<T extends Job> = { deps: JobDeps<T>; job: T; facts: Facts; signal: AbortSignal };

/** Observes everything that a job in this state depends on. Undefined: not known yet; the job is reconciled when it is. */
export async function observe<T extends Job>(
  deps: JobDeps<T>,
  job: T,
  state: JobState,
  signal: AbortSignal,
): Promise<Observed | undefined> {
  const facts = { job, spec: job.spec, status: job.status, now: deps.shared.clock.now() };
  const context = { deps, job, facts, signal };
  switch (state.kind) {
    case "Waiting":
      return observeWaiting(context);
    case "Sending":
      return { observation: await observeSending(context, state) };
    case "Halted":
      return { observation: observeHalted(facts, resubmitTokenOf(job)) };
    case "Tracking":
      return observeTracking(context, state.taskID);
    case "Storing":
      return observeCopy(context);
    default:
      return undefined;
  }
}

async function observeWaiting<T extends Job>(context: Context<T>): Promise<Observed | undefined> {
  const { deps, job, facts } = context;
  const held = heldBack(context);
  if (held !== undefined) return { observation: held };

  const resolved = await deps.shared.accounts.resolve(job.spec.accountRef, job.metadata.namespace);
  const store = storeOf(context);
  if (resolved.kind === "Checking" || store?.kind === "Checking") return undefined;
  if (store?.kind === "Held") return blocked({ reason: store.reason, message: store.message, stalled: true });
  if (resolved.kind === "Held") return blocked(heldAccount(resolved));
  const { account } = resolved;
  const mismatch = accountMismatch(job, account);
  if (mismatch !== undefined) return blocked(mismatch);

  const until = deps.running.backoffUntil(job.metadata.uid);
  if (until !== undefined && until > facts.now) return { observation: { kind: "BackingOff", until } };
  const prepared = await prepare(context, account);
  if (prepared.kind !== "Clear") return { observation: prepared };
  const { operation } = prepared.request;
  const createdAt = Date.parse(job.metadata.creationTimestamp);
  const asking = { work: { ...workOf(job), operation }, createdAt, wake: () => deps.wake(job) };
  const waiting = requestSlot(deps.shared.admission, account.key, asking, facts.now);
  return { observation: waiting ?? prepared, account, store };
}

/** Why the job is not sent, independently of its account and its store. */
function heldBack<T extends Job>({ job, facts }: Context<T>): ObservationIn<"Waiting"> | undefined {
  if (job.spec.suspend) return { kind: "Suspended" };
  const late = pastDeadline(facts);
  if (late !== undefined) return late;
  const { nextAttemptTime } = job.status ?? {};
  const until = nextAttemptTime === undefined ? 0 : Date.parse(nextAttemptTime);
  return until > facts.now ? { kind: "TooSoon", until } : undefined;
}

async function prepare<T extends Job>(
  { deps, job, signal }: Context<T>,
  account: AccountHandle,
): Promise<Observation<"Clear" | "InvalidSpec" | "Blocked">> {
  try {
    const reader = createValueReader(deps.shared.kube, signal);
    return { kind: "Clear", request: await deps.adapter.prepare(job, account, reader) };
  } catch (error) {
    if (error instanceof InvalidJobError) return { kind: "InvalidSpec", reason: "InvalidSpec", message: error.message };
    const verdict = error instanceof MissingReferenceError ? verdictOf(error) : undefined;
    if (verdict?.kind !== "Stalled") throw error;
    const { reason, message, againMs } = verdict;
    return { kind: "Blocked", reason, message, stalled: true, ...(againMs === undefined ? {} : { againMs }) };
  }
}

async function observeSending<T extends Job>(
  { deps, job, facts }: Context<T>,
  { entry }: Extract<JobState, { kind: "Sending" }>,
): Promise<ObservationIn<"Sending">> {
  const request = deps.running.find(job.metadata.uid);
  if (request?.answer !== undefined) {
    return observeAnswer(request.answer, facts, deps.running.backoffUntil(job.metadata.uid));
  }
  if (request !== undefined) return { kind: "UnderWay", ...request };

  // The operator ended before the status had the outcome. Only the journal entry is left.
  if (entry === undefined) throw new Error("a request without a journal entry and without a response");
  const resolved = await deps.shared.accounts.resolve(job.spec.accountRef, job.metadata.namespace);
  const account =
    resolved.kind === "Usable"
      ? { kind: resolved.ref.kind, name: resolved.ref.name, baseURL: resolved.account.baseURL }
      : undefined;
  if (entry.outcome !== undefined) return observeAccepted(acceptedFrom(entry.outcome), { entry, account }, job.spec);
  return observeUnknown({ entry, account }, "the operator ended before it received the response", facts);
}

function observeAnswer(answer: Answer, facts: Facts, backoffUntil: number | undefined): ObservationIn<"Sending"> {
  const { account, entry } = answer;
  switch (answer.kind) {
    case "Accepted":
      return observeAccepted(answer.accepted, { entry, account }, facts.spec);
    case "NotTaken":
      return { kind: "NotTaken", entry, ...answer.block, until: backoffUntil ?? facts.now };
    case "Refused":
      return { kind: "Refused", reason: answer.reason, message: answer.message, entry, account };
    case "Unknown":
      return observeUnknown({ entry, account }, answer.cause, facts);
    case "Withdrawn":
      return { kind: "Withdrawn", until: facts.now };
  }
}

async function observeTracking<T extends Job>(
  { deps, job, facts, signal }: Context<T>,
  taskID: string,
): Promise<Observed | undefined> {
  const resolved = await accountOfTask(deps.shared, job);
  if (resolved.kind === "Checking") return undefined;
  if (resolved.kind === "Held") {
    const { reason, message } = resolved;
    return { observation: observeTask(facts, taskID, undefined, { reason, message, stalled: false }) };
  }
  const { account } = resolved;
  const mismatch = accountMismatch(job, account);
  if (mismatch !== undefined) return { observation: observeTask(facts, taskID, undefined, mismatch) };
  const secrets = () => deps.adapter.secrets(job, createValueReader(deps.shared.kube, signal));
  const polled = await withoutSecrets(account.tasks.latest(taskID), secrets);
  return { observation: observeTask(facts, taskID, polled, undefined), account };
}

function observeCopy<T extends Job>(context: Context<T>): Observed | undefined {
  const { deps, job, facts } = context;
  const { uid } = job.metadata;
  const copy = deps.copies.find(uid);
  if (copy?.end !== undefined) {
    const { end } = copy;
    if (end.kind === "Stored") return { observation: { kind: "Stored", results: end.results } };
    return { observation: resultsLost(facts, end.message) ?? { ...end, kind: "CopyFailed" } };
  }
  if (copy !== undefined) return { observation: { kind: "Copying", note: copyNote(copy.bytes, copy.totalBytes) } };

  const until = deps.copies.backoffUntil(uid);
  if (until !== undefined && until > facts.now) return { observation: { kind: "BackingOff", until } };
  const store = storeOf(context);
  if (store?.kind === "Checking") return undefined;
  if (store?.kind === "Held") return blockedCopy(facts, { reason: store.reason, message: store.message });
  const account = accountOfResults(context);
  if (account.kind === "Checking") return undefined;
  if (account.kind === "Held") return blockedCopy(facts, { reason: "AccountNotReady", message: account.message });
  return { observation: { kind: "NotCopying" }, account: account.account, store };
}

function blocked(block: Block): Observed {
  return { observation: { kind: "Blocked", ...block } };
}

function blockedCopy(facts: Facts, cause: Omit<Block, "stalled">): Observed {
  const lost = resultsLost(facts, cause.message);
  return lost === undefined ? blocked({ ...cause, stalled: true }) : { observation: lost };
}

/** The URLs have expired, and nothing is stored. `cause`: why the copy failed. */
function resultsLost({ job, status, now }: Facts, cause: string): Observation<"ResultsLost"> | undefined {
  const { resultsExpireAt } = status ?? {};
  if (resultsExpireAt === undefined || now < Date.parse(resultsExpireAt)) return undefined;
  const message = `The results expired at ${resultsExpireAt} before they were copied (${cause}): create a new ${job.kind} to make them again`;
  return { kind: "ResultsLost", reason: "NoResult", message };
}

function heldAccount({ reason, message, againMs }: Extract<Resolved, { kind: "Held" }>): Block {
  return { reason, message, stalled: false, ...(againMs === undefined ? {} : { againMs }) };
}

/** After its first submission a job uses the account of that submission only (api: accountRef). */
function accountMismatch({ status }: Job, account: AccountHandle): Block | undefined {
  const bound = status?.account;
  if (bound === undefined || status?.submission === undefined || bound.baseURL === account.baseURL) return undefined;
  const message = `bound to ${bound.baseURL}, but the account now has base URL ${account.baseURL}: nothing is sent; restore the account's baseURL, or recreate the job`;
  return { reason: "AccountMismatch", message, stalled: true };
}

/** The account that made the results. It limits the addresses that are read, also while its key or budget holds it. */
function accountOfResults<T extends Job>({ deps, job }: Context<T>): Resolved {
  const { namespace } = job.metadata;
  const { accounts } = deps.shared;
  const bound = job.status?.account;
  const handle = bound && accounts.get(accountKey(bound.kind, bound.name, namespace))?.handle;
  if (handle !== undefined && bound !== undefined) return { kind: "Usable", account: handle, ref: bound };
  return accounts.resolveCleanup(bound, job.spec.accountRef, namespace);
}

function storeOf<T extends Job>({ deps, job }: Context<T>): ResolvedStore | undefined {
  const { output } = job.spec;
  return output === undefined ? undefined : deps.stores.resolve(job.metadata.namespace, output.storeRef);
}

function copyNote(bytes: number, totalBytes: number | undefined): string {
  if (bytes === 0) return "Copying the results to the store";
  const mib = (value: number) => `${Math.round(value / 2 ** 20)} MiB`;
  return `Copying the results to the store: ${mib(bytes)}${totalBytes === undefined ? "" : ` of ${mib(totalBytes)}`}`;
}
