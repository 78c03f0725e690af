import type { AccountShare } from "../../api/v1alpha1/account-shares.ts";
import { nextAttempt } from "../../submission/record.ts";
import { accountToUse } from "../account/binding.ts";
import { type AccountHandle, LABELS_AGAIN_MS } from "../account/registry.ts";
import { forbiddenCause, forbiddenInJob } from "../account/share-rules.ts";
import { shareRefusal } from "../account/shares.ts";
import type { ControllerDeps } from "../controller-deps.ts";
import { isOfBatch, shownAfterMs } from "./batch-owner.ts";
import { observeCopy } from "./copy.ts";
import type { JobDeps } from "./deps.ts";
import { observeHaltedJob } from "./halt.ts";
import {
  blocked,
  type JobContext,
  type JobState,
  type Observation,
  type ObservationIn,
  type ObserveContext,
  type Observed,
  observeDelivery,
  pastDeadline,
  type Submitted,
  storeOf,
} from "./observations.ts";
import { observeTracking } from "./polls.ts";
import { checkCost, checkJob, isInLine, prepare } from "./prepare.ts";
import { observeReuse, reuseKeyOf } from "./reuse.ts";
import type { RunningRequests } from "./running.ts";
import { heldAccount, mismatchOf } from "./tasks.ts";
import { type Accepted, type Job, type JobSpec, type RequestOutcome, workOf } from "./types.ts";

/** After this many unknown submissions a job halts, also under `onSubmissionUnknown: Resubmit`. */
export const MAX_UNKNOWN = 10;
/** Why jobs of a batch wait for other ones of the same account. */
const TURNS = ["ConcurrencyLimited", "ShareLimited"];
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
  if (deps.mayStart?.(job) === false) return undefined;
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

  const share = await observeShare(context, account);
  if (share.kind === "Blocked") return { observation: share };

  const until = deps.running.backoffUntil(job.metadata.uid);
  if (until !== undefined && until > now) return { observation: { kind: "BackingOff", until } };
  const invalid = checkJob(context, store);
  if (invalid !== undefined) return { observation: invalid };
  const queued = isInLine(job) ? requestSlot(context, account) : undefined;
  if (queued !== undefined) return { observation: queued };
  const prepared = await prepare(context, account);
  if (prepared.kind !== "Prepared") return { observation: prepared };
  const reuseKey = reuseKeyOf(job, prepared.request, account, store?.store);
  const request = { ...prepared.request, reuseKey };
  const reused =
    reuseKey === undefined || store === undefined ? undefined : await observeReuse(context, store.store, reuseKey);
  if (reused !== undefined) return reused;
  const { consumption } = request;
  const costly = await checkCost(context, account, { quantity: consumption.quantity, share: share.share });
  if (costly !== undefined) return blocked(costly);
  const waiting = requestSlot(context, account, consumption.quantity);
  if (waiting !== undefined) return { observation: { ...waiting, consumption } };
  const body = { account: account.key, characters: JSON.stringify(request.body).length };
  if (!deps.running.fits(job.metadata.uid, body, () => deps.wake(job))) {
    const message = "The request waits for the memory that the requests of other jobs use";
    return { observation: { kind: "NotAdmitted", reason: "RateLimited", message, stalled: false, brief: false } };
  }
  return { observation: { kind: "Clear", request, attempt }, account, store };
}

/** What the share of the namespace never allows. Polls and copies do not ask: what is paid for goes on. */
async function observeShare<T extends Job>(
  { job }: ObserveContext<T>,
  account: AccountHandle,
): Promise<Observation<"Blocked"> | { kind: "Share"; share: AccountShare | undefined }> {
  const found = await account.sharing.share(job.metadata.namespace);
  const share = found.kind === "Share" ? found.share : undefined;
  const refusal = shareRefusal(found) ?? (share && forbiddenCause(forbiddenInJob(share, job)));
  if (refusal === undefined) return { kind: "Share", share };
  return { kind: "Blocked", ...refusal, stalled: true, againMs: LABELS_AGAIN_MS };
}

/** Asks for the slot that a job needs before it sends its paid request (SpendingAdmission). Undefined: admitted. */
function requestSlot<T extends Job>(
  { deps, job, now }: ObserveContext<T>,
  account: AccountHandle,
  quantity = job.status?.consumption?.quantity,
): Observation<"NotAdmitted"> | undefined {
  const work = { ...workOf(job), quantity };
  const answer = deps.shared.admission.request(account.key, work, () => deps.wake(job));
  if (answer.kind === "Admitted") return undefined;
  const { reason, message } = answer;
  // A new job usually waits for less time than a status write takes. Of a batch, often most jobs wait.
  const isOld = now - Date.parse(job.metadata.creationTimestamp) >= shownAfterMs(job);
  const isTurn = reason === "RateLimited" || (isOfBatch(job) && TURNS.includes(reason));
  return {
    kind: "NotAdmitted",
    reason,
    message,
    stalled: reason === "InsufficientBalance",
    brief: isTurn && !isOld,
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
    shared: Pick<ControllerDeps, "hasSenderEnded">;
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
  // The process that sent it writes the outcome, whoever serves the account by now.
  if (!deps.shared.hasSenderEnded(record.sender)) return { kind: "UnderWayElsewhere" };
  return observeUnknown({ record }, "the operator ended before it received the response", context);
}

/**
 * The status shows another request, of another process or of an earlier time: without a result, this one matters no more. A task that was
 * accepted is not forgotten, unless the other request has one as well.
 */
function isObsolete({ kind, record }: RequestOutcome, { status }: Job): boolean {
  const { submission } = status ?? {};
  if (submission === undefined || submission.id === record.id) return false;
  const isForeign = submission.state === "Intended" && submission.sender !== record.sender;
  if (!isForeign && nextAttempt(submission) <= record.attempt) return false; // what the status showed before
  return kind !== "Accepted" || submission.state === "Accepted";
}

function observeAnswer(
  answer: RequestOutcome,
  context: JobContext,
  backoffUntil: number | undefined,
): ObservationIn<"Sending"> {
  const { record } = answer;
  // A record that was not stored must not replace the request that the status shows.
  const shown = context.job.status?.submission?.id === record.id ? record : undefined;
  switch (answer.kind) {
    case "Accepted":
      return observeAccepted(answer.accepted, { record }, context.job.spec);
    case "NotTaken":
      return {
        kind: "NotTaken",
        record: shown,
        ...answer.block,
        until: backoffUntil ?? context.now,
      };
    case "Refused":
      return { kind: "Refused", reason: answer.reason, message: answer.message, record };
    case "Unusable":
      return { kind: "Unusable", record, cause: answer.cause, results: answer.results };
    case "TooLarge": {
      const submitted = { record };
      return { kind: "NoResults", reason: "ResultTooLarge", message: answer.message, submitted };
    }
    case "Unknown":
      return observeUnknown({ record }, answer.cause, context);
    case "Withdrawn":
      return { kind: "Withdrawn", record: shown, until: context.now };
  }
}

/** The service accepted the request. */
export function observeAccepted(accepted: Accepted, submitted: Submitted, spec: JobSpec): ObservationIn<"Sending"> {
  if ("taskID" in accepted) return { kind: "Accepted", ...submitted, taskID: accepted.taskID };
  const { results, firstAudioMs, unrecorded = false } = accepted;
  const withAudio = { ...submitted, firstAudioMs };
  if (results.length > 0) return observeDelivery(results, spec, { submitted: withAudio, unrecorded });
  const message = "The request succeeded without any result and may have been charged: ask the service's support";
  return { kind: "NoResults", reason: "NoResult", message, submitted: withAudio };
}

/** The outcome of the request is unknown. */
export function observeUnknown(submitted: Submitted, cause: string, { job }: JobContext): ObservationIn<"Sending"> {
  const unknown = submitted.record.attempt - (job.status?.failedTasks ?? 0);
  const again = job.spec.onSubmissionUnknown === "Resubmit" && unknown < MAX_UNKNOWN;
  return { kind: again ? "UnknownButResubmit" : "Unknown", ...submitted, cause };
}
