import { nextAttempt } from "../../submission/record.ts";
import { accountOfResources, accountToUse, boundKey } from "../account/binding.ts";
import { type AccountHandle, type Resolved, refOf } from "../account/registry.ts";
import type { ResolvedStore } from "../artifact-store/registry.ts";
import type { ControllerDeps } from "../controller-deps.ts";
import { observeHaltedJob } from "./halt.ts";
import {
  type JobContext,
  type JobState,
  type Observation,
  type ObservationIn,
  type ObserveContext,
  type Observed,
  observeAccepted,
  observeUnknown,
  pastDeadline,
  SHOW_SENDING_AFTER_MS,
} from "./observations.ts";
import { checkJob, isInLine, prepare } from "./prepare.ts";
import { heldAccount, mismatchOf, observeTracking } from "./tasks.ts";
import { type Answer, type Block, type Job, type JobDeps, type RunningRequests, workOf } from "./types.ts";

/** Re-check interval for a job whose store is full. */
const FULL_STORE_MS = 30_000;

/** Observes everything that a job in this state depends on. Undefined: not known yet; the job is reconciled when it is. */
export async function observe<T extends Job>(
  deps: JobDeps<T>,
  job: T,
  state: JobState,
  signal: AbortSignal,
): Promise<Observed | undefined> {
  const context = { deps, job, now: deps.shared.clock.now(), signal };
  switch (state.kind) {
    case "Waiting":
      return observeWaiting(context, state.attempt);
    case "Sending":
      return { observation: observeSending(context, state) };
    case "Halted":
      return observeHaltedJob(context);
    case "Tracking":
      return observeTracking(context, state.taskID);
    case "Storing":
      return observeCopy(context);
    default:
      return undefined;
  }
}

async function observeWaiting<T extends Job>(
  context: ObserveContext<T>,
  attempt: number,
): Promise<Observed | undefined> {
  const { deps, job, now } = context;
  const held = heldBack(context);
  if (held !== undefined) return { observation: held };
  const restored = deps.shared.heldByRestore(job);
  if (restored !== undefined) return blocked({ reason: "EtcdRestored", message: restored, stalled: true });

  const resolved = await deps.shared.accounts.resolve(accountToUse(job), job.metadata.namespace);
  const store = storeOf(context);
  if (resolved.kind === "Checking" || store?.kind === "Checking") return undefined;
  if (store?.kind === "Held") return blocked({ reason: store.reason, message: store.message, stalled: true });
  if (resolved.kind === "Held") return blocked(heldAccount(resolved));
  const full = store?.store.full();
  if (full !== undefined) return blocked({ reason: "StoreFull", message: full, stalled: true, againMs: FULL_STORE_MS });
  const { account } = resolved;
  const mismatch = mismatchOf(job, account);
  if (mismatch !== undefined) return blocked(mismatch);

  const until = deps.running.backoffUntil(job.metadata.uid);
  if (until !== undefined && until > now) return { observation: { kind: "BackingOff", until } };
  const invalid = checkJob(context, store);
  if (invalid !== undefined) return { observation: invalid };
  const queued = isInLine(job) ? requestSlot(context, account) : undefined;
  if (queued !== undefined) return { observation: queued };
  const prepared = await prepare(context, account);
  if (prepared.kind !== "Prepared") return { observation: prepared };
  const { request } = prepared;
  const waiting = requestSlot(context, account);
  if (waiting !== undefined) return { observation: waiting };
  const body = { account: account.key, characters: JSON.stringify(request.body).length };
  if (!deps.running.fits(job.metadata.uid, body, () => deps.wake(job))) {
    const message = "The request waits for the memory that the requests of other jobs use";
    return { observation: { kind: "NotAdmitted", reason: "RateLimited", message, stalled: false, brief: false } };
  }
  return { observation: { kind: "Clear", request, attempt }, account, store };
}

/** Asks for the slot that a job needs before it sends its paid request (SpendingAdmission). Undefined: admitted. */
function requestSlot<T extends Job>(
  { deps, job, now }: ObserveContext<T>,
  account: AccountHandle,
): Observation<"NotAdmitted"> | undefined {
  const answer = deps.shared.admission.request(account.key, workOf(job), () => deps.wake(job));
  if (answer.kind === "Admitted") return undefined;
  const { reason, message } = answer;
  // A new job usually waits for less time than a status write takes.
  const isOld = now - Date.parse(job.metadata.creationTimestamp) >= SHOW_SENDING_AFTER_MS;
  return {
    kind: "NotAdmitted",
    reason,
    message,
    stalled: reason === "InsufficientBalance",
    brief: reason === "RateLimited" && !isOld,
  };
}

/** Why the job is not sent, independently of its account and its store. */
function heldBack(context: JobContext): ObservationIn<"Waiting"> | undefined {
  const { job, now } = context;
  if (job.spec.suspend) return { kind: "Suspended" };
  const late = pastDeadline(context);
  if (late !== undefined) return late;
  const { nextAttemptTime } = job.status ?? {};
  const until = nextAttemptTime === undefined ? 0 : Date.parse(nextAttemptTime);
  return until > now ? { kind: "TooSoon", until } : undefined;
}

/** What an observation of a request under way reads. */
type SendingContext = JobContext & {
  deps: {
    running: Pick<RunningRequests, "find" | "backoffUntil">;
    shared: Pick<ControllerDeps, "assertLeading">;
  };
};

export function observeSending(
  context: SendingContext,
  { record }: Extract<JobState, { kind: "Sending" }>,
): ObservationIn<"Sending"> {
  const { deps, job, now } = context;
  const request = deps.running.find(job.metadata.uid);
  if (request?.answer !== undefined) {
    if (isObsolete(request.answer, job)) return { kind: "Withdrawn", record: undefined, until: now };
    return observeAnswer(request.answer, context, deps.running.backoffUntil(job.metadata.uid));
  }
  if (request !== undefined) return { kind: "UnderWay", ...request };

  if (record === undefined) throw new Error("a request without a record and without a response");
  // Who holds the lease knows that the sender has ended. One that has lost it can see a request of the process that leads by now.
  deps.shared.assertLeading();
  return observeUnknown(
    { record, account: record.account },
    "the operator ended before it received the response",
    context,
  );
}

/**
 * The status shows another request, of another process or of an earlier time: without a result, this one matters no more. A task that was
 * accepted is not forgotten, unless the other request has one as well.
 */
function isObsolete({ kind, record }: Answer, { status }: Job): boolean {
  const { submission } = status ?? {};
  if (submission === undefined || submission.id === record.id) return false;
  const isForeign = submission.state === "Intended" && submission.sender !== record.sender;
  if (!isForeign && nextAttempt(submission) <= record.attempt) return false; // what the status showed before
  return kind !== "Accepted" || submission.state === "Accepted";
}

function observeAnswer(
  answer: Answer,
  context: JobContext,
  backoffUntil: number | undefined,
): ObservationIn<"Sending"> {
  const { account, record } = answer;
  // A record that was not stored must not replace the request that the status shows.
  const shown = context.job.status?.submission?.id === record.id ? record : undefined;
  switch (answer.kind) {
    case "Accepted":
      return observeAccepted(answer.accepted, { record, account }, context.job.spec);
    case "NotTaken":
      return {
        kind: "NotTaken",
        record: shown,
        ...answer.block,
        until: backoffUntil ?? context.now,
      };
    case "Refused":
      return { kind: "Refused", reason: answer.reason, message: answer.message, record, account };
    case "Unusable":
      return { kind: "Unusable", record, account, cause: answer.cause, results: answer.results };
    case "TooLarge": {
      const submitted = { record, account };
      return { kind: "NoResults", reason: "ResultTooLarge", message: answer.message, submitted };
    }
    case "Unknown":
      return observeUnknown({ record, account }, answer.cause, context);
    case "Withdrawn":
      return { kind: "Withdrawn", record: shown, until: context.now };
  }
}

function observeCopy<T extends Job>(context: ObserveContext<T>): Observed | undefined {
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
  return { observation: { kind: "NotCopying" }, account: account.account, store };
}

function blocked(block: Block): Observed {
  return { observation: { kind: "Blocked", ...block } };
}

function blockedCopy(context: JobContext, cause: Omit<Block, "stalled">): Observed {
  const lost = resultsLost(context, cause.message);
  return lost === undefined ? blocked({ ...cause, stalled: true }) : { observation: lost };
}

/**
 * The URLs have expired, and nothing is stored. The results of a task are never lost: whatever it answers now, it can show other URLs
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

function storeOf<T extends Job>({ deps, job }: ObserveContext<T>): ResolvedStore | undefined {
  const { output } = job.spec;
  return output === undefined ? undefined : deps.stores.resolve(job.metadata.namespace, output.storeRef);
}

function copyNote(bytes: number, totalBytes: number | undefined): string {
  if (bytes === 0) return "Copying the results to the store";
  const mib = (value: number) => `${Math.round(value / 2 ** 20)} MiB`;
  return `Copying the results to the store: ${mib(bytes)}${totalBytes === undefined ? "" : ` of ${mib(totalBytes)}`}`;
}
