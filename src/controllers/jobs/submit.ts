import { ArtifactError } from "../../artifacts/errors.ts";
import type { ArtifactStoreHandle, ArtifactWriter } from "../../artifacts/types.ts";
import type { Clock } from "../../base/clock.ts";
import { isConflict } from "../../kube/errors.ts";
import { keyOf } from "../../kube/types.ts";
import { ServiceError } from "../../provider/errors.ts";
import { compact } from "../../runtime/store.ts";
import { UnwantedRequestError } from "../../submission/record.ts";
import type { RecordedObject } from "../../submission/store-record.ts";
import { AcceptedError, type SubmitOnceResult, submitOnce } from "../../submission/submit-once.ts";
import { type AccountHandle, boundTo } from "../account/registry.ts";
import type { ControllerDeps, Kind } from "../controller-deps.ts";
import { concernsKey, isUnpaid, messageOf, RETRIED_STALLS, type Verdict, verdictOf } from "../verdict.ts";
import { assertMaySubmit } from "../wanted.ts";
import type { JobDeps } from "./deps.ts";
import type { Observed } from "./observations.ts";
import { recordResults } from "./request-records.ts";
import { keyOfResult } from "./result-key.ts";
import { allStored } from "./status.ts";
import { type Step, showRecord } from "./steps.ts";
import type { Transition } from "./transitions.ts";
import {
  type Accepted,
  type Block,
  type Job,
  type JobStatus,
  type PaidRequest,
  PartlyStoredError,
  type Progress,
  type RequestOutcome,
  type SendContext,
} from "./types.ts";

export type SubmitOptions<T extends Job> = {
  kind: Kind<T>;
  job: T;
  account: AccountHandle;
  attempt: number;
  request: PaidRequest;
  write: WriteRecord<T>;
  openArtifact: SendContext["openArtifact"];
  progress: Pick<Progress, "sent" | "firstAudio">;
  signal: AbortSignal;
};

/** Writes the step that shows the record of a request to the status of a job. `job`: the stored object. */
export type WriteRecord<T extends Job> = (job: T, step: Step, signal: AbortSignal) => Promise<T>;

type Start<T extends Job> = NonNullable<Transition["send"]> & Pick<SubmitOptions<T>, "write">;

/** Starts the paid request of a transition, which runs beside the reconciles. */
export function startRequest<T extends Job>(
  deps: JobDeps<T>,
  job: T,
  { account, store }: Observed,
  { request, attempt, write }: Start<T>,
): void {
  const { shared, running, adapter } = deps;
  if (account === undefined) throw new Error("a request needs an account");
  const target = store?.kind === "Usable" ? store.store : undefined;
  running.begin(
    job.metadata.uid,
    () => deps.wake(job),
    async (progress, signal) => {
      const answer = await submit(shared, {
        kind: adapter.kind,
        job,
        account,
        attempt,
        request,
        write,
        openArtifact:
          target && ((type, maxBytes) => opened(target, keyOfResult(job, 0, type), { signal, maxBytes, progress })),
        progress,
        signal,
      });
      if (answer.kind === "NotTaken") running.backOff(job.metadata.uid, answer.retryAfterMs);
      return target === undefined
        ? answer
        : await recorded(answer, { job, request, store: target, clock: shared.clock }, signal);
    },
  );
}

/** The record by which results that the response contained are reused. Without it, it is written as after a copy. */
async function recorded(
  answer: RequestOutcome,
  { job, request, store, clock }: { job: Job; request: PaidRequest; store: ArtifactStoreHandle; clock: Clock },
  signal: AbortSignal,
): Promise<RequestOutcome> {
  const { reuseKey: hash } = request;
  if (hash === undefined || answer.kind !== "Accepted" || "taskID" in answer.accepted) return answer;
  const { results } = answer.accepted;
  if (!allStored(results)) return answer;
  try {
    await recordResults(store, job, { hash, results, now: clock.now() }, signal);
    return answer;
  } catch {
    return { ...answer, accepted: { ...answer.accepted, unrecorded: true } };
  }
}

/** The writers of all accounts share a pool of memory. A request that waits for it does not wait for its account's rate limit. */
async function opened(
  store: Pick<ArtifactStoreHandle, "writer">,
  key: string,
  { progress, ...options }: Parameters<ArtifactStoreHandle["writer"]>[1] & { progress: Progress },
): Promise<ArtifactWriter> {
  progress.opening(true);
  try {
    return await store.writer(key, options);
  } finally {
    progress.opening(false);
  }
}

/** Sends one paid request at most once (submitOnce). */
export async function submit<T extends Job>(
  shared: ControllerDeps,
  options: SubmitOptions<T>,
): Promise<RequestOutcome> {
  const { kind, job, request, account, attempt } = options;
  const result = await submitOnce<T, Accepted>(shared, {
    uid: job.metadata.uid,
    attempt,
    operation: request.operation,
    specHash: account.digest(request.body),
    account: boundTo(account),
    keyVersion: account.keyVersion,
    object: recordedJob(options),
    confirmServing: (signal) => shared.servers.confirm(account.key, signal),
    assertWanted: () => assertMaySubmit(shared, { kind, object: job, account }),
    send: (sendOptions) =>
      request.send({
        session: account,
        options: { ...sendOptions, group: job.metadata.namespace },
        clock: shared.clock,
        openArtifact: options.openArtifact,
        progress: options.progress,
      }),
    onSent: options.progress.sent,
    signal: options.signal,
  });
  return outcomeOf(shared, { kind: kind.resource.kind, account }, result);
}

/** The status has the record, unless it shows another request by now. */
function recordedJob<T extends Job>({ kind, job, request, write }: SubmitOptions<T>): RecordedObject<T> {
  const { resource, store } = kind;
  return {
    resource,
    latest: () => store.get(keyOf(job)),
    write: (object, record, signal) => write(object, showRecord(record, request), signal),
    shown: ({ status }) => status?.submission,
    mayWrite: ({ metadata, status }) =>
      metadata.uid === job.metadata.uid && !isFinished(status) && isSameSubmission(status, job.status),
    onRead: (object) => void store.observeWrite(compact(object)),
  };
}

const isFinished = (status: JobStatus | undefined) => status?.phase === "Succeeded" || status?.phase === "Failed";

/** Whether no other request was recorded since. */
function isSameSubmission(
  { submission: one }: Partial<JobStatus> = {},
  { submission: other }: Partial<JobStatus> = {},
) {
  return one?.id === other?.id && one?.state === other?.state;
}

// What the result means

const STALLED_RETRY_MS = 5 * 60_000;
const UNPAID_RETRY_MS = 1_000;

/** What the result of a paid request means for its job and for its account. `kind`: of the job. */
function outcomeOf(
  shared: Pick<ControllerDeps, "accounts" | "admission">,
  { kind, account }: { kind: string; account: AccountHandle },
  result: SubmitOnceResult<Accepted>,
): RequestOutcome {
  const { record } = result;
  if (result.kind === "Accepted" || result.kind === "Unusable") shared.admission.paid(account.key);
  if (result.kind === "Accepted") return { record, kind: "Accepted", accepted: result.value };
  if (result.kind === "Unusable") {
    const { error } = result;
    const cause = error instanceof AcceptedError ? error.cause : error;
    const results = error instanceof PartlyStoredError ? error.results : [];
    return cause instanceof ArtifactError && cause.kind === "TooLarge"
      ? { record, kind: "TooLarge", message: tooLargeMessage(cause, kind) }
      : { record, kind: "Unusable", cause: messageOf(error), results };
  }
  if (result.kind === "Unknown") {
    holdRefusedKey(shared, account, result.error);
    return { record, kind: "Unknown", cause: messageOf(result.error) };
  }
  const { error } = result;
  if (error instanceof UnwantedRequestError || isConflict(error)) return { record, kind: "Withdrawn" };
  if (isRefusal(error)) {
    const reason = error.kind === "NotEntitled" ? "NotEntitled" : "InvalidSpec";
    return { record, kind: "Refused", reason, message: refusalMessage(error, kind) };
  }
  holdRefusedKey(shared, account, error);
  const refused = { record, kind: "NotTaken", ...notTaken(error) } as const;
  if (isUnpaid(error)) shared.admission.unpaid(account.key, refused.block.message);
  return refused;
}

/** The service refuses the key: the account is held, whether or not the outcome of the request is known. */
function holdRefusedKey(shared: Pick<ControllerDeps, "accounts">, account: AccountHandle, error: unknown): void {
  if (concernsKey(error)) shared.accounts.unauthorized(account.key, `the service refuses the key: ${error.message}`);
}

/** A refusal is final unless it concerns a limit, the key or a failure of the service. */
function isRefusal(error: unknown): error is ServiceError {
  return error instanceof ServiceError && ["InvalidRequest", "NotFound", "NotEntitled"].includes(error.kind);
}

function tooLargeMessage({ message }: ArtifactError, kind: string): string {
  return `The service sent ${message}: Mooring deleted the partial result. The request may have been charged: ask the service's support, and create a new ${kind} to try again`;
}

function refusalMessage(error: ServiceError, kind: string): string {
  if (error.kind === "NotEntitled") return notTaken(error).block.message;
  return `${error.message}: create a new ${kind} with corrected values; the spec of a job cannot be changed`;
}

/** Why a request without effect waits, and until when; without `retryAfterMs` it is sent again with backoff. */
function notTaken(error: unknown): { block: Block; retryAfterMs: number | undefined } {
  if (error instanceof ArtifactError) {
    const message = `the store does not accept the artifact: ${error.message}`;
    if (error.kind === "TooLarge") {
      return { block: { reason: "ResultTooLarge", message, stalled: true }, retryAfterMs: STALLED_RETRY_MS };
    }
    return { block: { reason: "StoreNotReady", message, stalled: false }, retryAfterMs: undefined };
  }
  const verdict = verdictOf(error);
  if (verdict.kind === "Done") throw new Error("an error is never Done", { cause: error });
  const { reason, message } = verdict;
  // The job waits with the others of the account.
  const retryAfterMs = isUnpaid(error) ? UNPAID_RETRY_MS : retryAfterOf(verdict);
  return { block: { reason, message, stalled: verdict.kind === "Stalled" }, retryAfterMs };
}

/** undefined: with backoff. */
function retryAfterOf(verdict: Verdict): number | undefined {
  if (verdict.kind !== "Stalled") return verdict.kind === "Waiting" ? verdict.againMs : undefined;
  return RETRIED_STALLS.includes(verdict.reason) ? verdict.againMs : (verdict.againMs ?? STALLED_RETRY_MS);
}
