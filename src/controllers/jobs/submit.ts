import { ArtifactError } from "../../artifacts/errors.ts";
import type { ArtifactStoreHandle, ArtifactWriter } from "../../artifacts/types.ts";
import type { Clock } from "../../base/clock.ts";
import { isConflict } from "../../kube/errors.ts";
import { keyOf } from "../../kube/types.ts";
import { ServiceError } from "../../provider/errors.ts";
import { createBackoffs } from "../../runtime/backoff.ts";
import { compact } from "../../runtime/store.ts";
import type { SpendingAdmission } from "../../submission/admission.ts";
import { type SubmissionRecord, UnwantedRequestError } from "../../submission/record.ts";
import type { RecordedObject } from "../../submission/store-record.ts";
import { AcceptedError, type SubmitOnceResult, submitOnce } from "../../submission/submit-once.ts";
import { type AccountHandle, boundTo } from "../account/registry.ts";
import type { ControllerDeps, Kind } from "../controller-deps.ts";
import { concernsKey, isUnpaid, messageOf, RETRIED_STALLS, type Verdict, verdictOf } from "../verdict.ts";
import { assertMaySubmit } from "../wanted.ts";
import { createBodyMemory } from "./body-memory.ts";
import { keyOfResult } from "./copies.ts";
import type { Observed } from "./observations.ts";
import { resultsOfKept } from "./tasks.ts";
import type { Transition } from "./transitions.ts";
import type {
  Accepted,
  Answer,
  Block,
  Job,
  JobDeps,
  JobStatus,
  PaidRequest,
  Progress,
  RunningRequest,
  RunningRequests,
  Sending,
} from "./types.ts";

type RunningRequestsOptions = {
  clock: Clock;
  random: () => number;
  admission: Pick<SpendingAdmission, "began" | "opening" | "sent" | "stop">;
};

const BACKOFF = { baseMs: 1_000, capMs: 5 * 60_000, jitter: 0.4 };
/** Time to write the outcomes to the statuses at a stop, after the last request has ended. */
const LAST_WRITES_MS = 30_000;
/** The same after the stop deadline. */
const LATE_WRITES_MS = 2_000;

export function createRunningRequests({ clock, random, admission }: RunningRequestsOptions): RunningRequests {
  const requests = new Map<string, RunningRequest>();
  const backoffs = createBackoffs(clock, { ...BACKOFF, random });
  /** Requests without an answer. Each has a signal of its own: what listens to it goes with the request. */
  const unanswered = new Map<RunningRequest, { ending: AbortController; ended: Promise<void> }>();
  const onEmpty = new Set<() => void>();
  const bodies = createBodyMemory();
  let draining = false;

  return {
    find: (uid) => requests.get(uid),
    fits: bodies.fits,
    vacate(uid) {
      const request = requests.get(uid);
      if (request === undefined || request.answer !== undefined) bodies.vacate(uid);
    },
    begin(uid, wake, run) {
      const request: RunningRequest = { since: clock.now(), sent: false };
      const ending = new AbortController();
      requests.set(uid, request);
      // A reconcile under way can have been admitted before. Nobody waits for its request once the drain is over.
      if (draining) ending.abort(stopping());
      admission.began(uid);
      const progress: Progress = {
        opening(opens) {
          request.opens = opens;
          if (opens) admission.opening(uid);
          else admission.began(uid);
        },
        sent() {
          request.sent = true;
          admission.sent(uid);
        },
        firstAudio(ms) {
          request.firstAudioMs = ms;
          wake();
        },
      };
      const ended = run(progress, ending.signal).then((answer) => {
        request.answer = answer;
        bodies.vacate(uid);
        unanswered.delete(request);
        wake();
      });
      unanswered.set(request, { ending, ended });
    },
    forget(uid) {
      requests.delete(uid);
      if (requests.size === 0) for (const resolve of onEmpty) resolve();
    },
    backoffUntil: backoffs.until,
    backOff: backoffs.fail,
    resetBackoff: backoffs.reset,
    async drain(deadline) {
      draining = true;
      admission.stop();
      if (requests.size === 0) return;
      // A request that waits for its turn would be sent during the stop, or hold it up until the deadline.
      for (const [{ sent }, { ending }] of unanswered) if (!sent) ending.abort(stopping());
      const answered = Promise.all([...unanswered.values()].map(({ ended }) => ended));
      await new Promise<void>((resolve) => {
        onEmpty.add(resolve);
        const resolveIn = (ms: number) => onEmpty.add(clock.setTimeout(resolve, ms));
        const end = () => {
          for (const { ending } of unanswered.values()) ending.abort(deadline.reason);
          resolveIn(LATE_WRITES_MS);
        };
        void answered.then(() => resolveIn(LAST_WRITES_MS));
        if (deadline.aborted) end();
        else deadline.addEventListener("abort", end, { once: true });
      });
    },
  };
}

const stopping = () => new Error("the operator is stopping");

export type SubmitOptions<T extends Job> = {
  kind: Kind<T>;
  job: T;
  account: AccountHandle;
  attempt: number;
  request: PaidRequest;
  /** Writes the record to the status of the job. */
  write: WriteRecord<T>;
  openArtifact: Sending["openArtifact"];
  onSent: () => void;
  onFirstAudio: (ms: number) => void;
  signal: AbortSignal;
};

/** Writes the record of a request to the status of a job. `job`: the stored object. */
export type WriteRecord<T extends Job> = (job: T, recorded: RecordedRequest, signal: AbortSignal) => Promise<T>;

export type RecordedRequest = { record: SubmissionRecord; request: PaidRequest };

const STALLED_RETRY_MS = 5 * 60_000;
const UNPAID_RETRY_MS = 1_000;

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
        onSent: progress.sent,
        onFirstAudio: progress.firstAudio,
        signal,
      });
      if (answer.kind === "NotTaken") running.backOff(job.metadata.uid, answer.retryAfterMs);
      return answer;
    },
  );
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
export async function submit<T extends Job>(shared: ControllerDeps, options: SubmitOptions<T>): Promise<Answer> {
  const { kind, job, request, account, attempt } = options;
  const result = await submitOnce<T, Accepted>(shared, {
    uid: job.metadata.uid,
    attempt,
    operation: request.operation,
    specHash: account.digest(request.body),
    account: boundTo(account),
    keyVersion: account.keyVersion,
    object: recordedJob(options),
    assertWanted: () => assertMaySubmit(shared, { kind, object: job, account }),
    send: (sendOptions) =>
      request.send({
        session: account,
        options: { ...sendOptions, group: job.metadata.namespace },
        clock: shared.clock,
        openArtifact: options.openArtifact,
        onFirstAudio: options.onFirstAudio,
      }),
    onSent: options.onSent,
    signal: options.signal,
  });
  return answerOf(shared, options, result);
}

/** The status has the record, unless it shows another request by now. */
function recordedJob<T extends Job>({ kind, job, request, write }: SubmitOptions<T>): RecordedObject<T> {
  const { resource, store } = kind;
  return {
    resource,
    latest: () => store.get(keyOf(job)),
    write: (object, record, signal) => write(object, { record, request }, signal),
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

/** Converts the result of a request. */
function answerOf<T extends Job>(
  shared: ControllerDeps,
  { kind, account }: SubmitOptions<T>,
  result: SubmitOnceResult<Accepted>,
): Answer {
  const { record } = result;
  const answer = { account: record.account, record };
  if (result.kind === "Accepted" || result.kind === "Unusable") shared.admission.paid(account.key);
  if (result.kind === "Accepted") return { ...answer, kind: "Accepted", accepted: result.value };
  if (result.kind === "Unusable") {
    const { error } = result;
    const { cause = error, kept = {} } = error instanceof AcceptedError ? error : {};
    return cause instanceof ArtifactError && cause.kind === "TooLarge"
      ? { ...answer, kind: "TooLarge", message: tooLargeMessage(cause, kind.resource.kind) }
      : { ...answer, kind: "Unusable", cause: messageOf(error), results: resultsOfKept(kept) };
  }
  if (result.kind === "Unknown") {
    holdRefusedKey(shared, account, result.error);
    return { ...answer, kind: "Unknown", cause: messageOf(result.error) };
  }
  const { error } = result;
  if (error instanceof UnwantedRequestError || isConflict(error)) return { ...answer, kind: "Withdrawn" };
  if (isRefusal(error)) {
    const reason = error.kind === "NotEntitled" ? "NotEntitled" : "InvalidSpec";
    return { ...answer, kind: "Refused", reason, message: refusalMessage(error, kind.resource.kind) };
  }
  holdRefusedKey(shared, account, error);
  const refused = { ...answer, kind: "NotTaken", ...notTaken(error) } as const;
  if (isUnpaid(error)) shared.admission.unpaid(account.key, refused.block.message);
  return refused;
}

/** The service refuses the key: the account is held, whether or not the outcome of the request is known. */
function holdRefusedKey(shared: ControllerDeps, account: AccountHandle, error: unknown): void {
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
