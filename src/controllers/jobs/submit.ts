import type { JobResult } from "../../api/v1alpha1/job.ts";
import type { BoundAccount } from "../../api/v1alpha1/meta.ts";
import { ArtifactError } from "../../artifacts/errors.ts";
import { ServiceError } from "../../provider/errors.ts";
import type { JournalEntry } from "../../submission/journal.ts";
import { type SubmitOnceResult, submitOnce } from "../../submission/submit-once.ts";
import type { AccountHandle } from "../account/registry.ts";
import { hashOf } from "../hash.ts";
import { failureOf } from "../service-failure.ts";
import { assertPresent, type Kind, type Shared } from "../shared.ts";
import type { Block } from "./observations.ts";
import type { Accepted, Job, PaidRequest, Sending } from "./types.ts";

/** What became of a paid request (api: "A paid request is sent at most once per attempt"). */
export type Answer = { account: BoundAccount; entry: JournalEntry } & (
  | { kind: "Accepted"; accepted: Accepted }
  /** Surely without effect, and not for good: it may be sent again after `retryAfterMs`, or after growing pauses. */
  | { kind: "NotTaken"; block: Block; retryAfterMs: number | undefined }
  /** Surely without effect, and for good. */
  | { kind: "Refused"; reason: "InvalidSpec" | "NotEntitled"; message: string }
  /** It may have taken effect. */
  | { kind: "Unknown"; cause: string }
  /** The job does not want it any more; nothing was sent. */
  | { kind: "Withdrawn" }
);

/** Thrown before anything is sent: the job was suspended, or is not what it was when this was decided. */
class WithdrawnError extends Error {
  override readonly name = "WithdrawnError";
}

export type SubmitOptions<T extends Job> = {
  kind: Kind<T>;
  job: T;
  attempt: number;
  account: AccountHandle;
  bound: BoundAccount;
  request: PaidRequest;
  openArtifact: Sending["openArtifact"];
  onSent: () => void;
  onFirstAudio: (ms: number) => void;
  signal: AbortSignal;
};

const STALLED_RETRY_MS = 5 * 60_000;

/** Sends one paid request at most once (submitOnce). The journal entry stays until the status has the outcome. */
export async function submit<T extends Job>(shared: Shared, options: SubmitOptions<T>): Promise<Answer> {
  const { kind, job, request, account } = options;
  const { name, namespace, uid = "" } = job.metadata;
  const { operation, body } = request;
  const result = await submitOnce<Accepted>(shared, {
    intent: {
      kind: kind.resource.kind,
      key: `${namespace}/${name}`,
      uid,
      operation,
      attempt: options.attempt,
      specHash: hashOf(body),
    },
    assertWanted: () => {
      assertPresent(kind, job);
      assertWanted(kind, job);
    },
    send: (sendOptions) =>
      request.send({
        session: account,
        options: sendOptions,
        clock: shared.clock,
        openArtifact: options.openArtifact,
        onFirstAudio: options.onFirstAudio,
      }),
    outcomeOf,
    onSent: options.onSent,
    signal: options.signal,
  });
  return answerOf(shared, options, result);
}

/** What the result of a request means for its job. */
function answerOf<T extends Job>(
  shared: Shared,
  { kind, account, bound }: SubmitOptions<T>,
  result: SubmitOnceResult<Accepted>,
): Answer {
  const answer = { account: bound, entry: result.entry };
  if (result.kind === "Accepted") return { ...answer, kind: "Accepted", accepted: result.value };
  if (result.kind === "Unknown") {
    if (result.error instanceof ServiceError) holdAccountOn(shared, account, result.error);
    return { ...answer, kind: "Unknown", cause: messageOf(result.error) };
  }
  const { error } = result;
  if (error instanceof WithdrawnError) return { ...answer, kind: "Withdrawn" };
  if (isRefusal(error)) {
    const reason = error.kind === "NotEntitled" ? "NotEntitled" : "InvalidSpec";
    return { ...answer, kind: "Refused", reason, message: refusalMessage(error, kind.resource.kind) };
  }
  return { ...answer, kind: "NotTaken", ...notTaken(shared, account, error) };
}

/** A refused key holds the account, whatever is known of the request that met it. */
function holdAccountOn(shared: Shared, account: AccountHandle, error: ServiceError): void {
  const { kind, message } = failureOf(error);
  if (kind === "AccountHeld") shared.accounts.unauthorized(account.key, `the service refuses the key: ${message}`);
}

/** A refusal is final unless it is about a limit, the key, or the service's own failure. */
function isRefusal(error: unknown): error is ServiceError {
  return error instanceof ServiceError && ["InvalidRequest", "NotFound", "NotEntitled"].includes(error.kind);
}

function refusalMessage(error: ServiceError, kind: string): string {
  if (error.kind === "NotEntitled") return failureOf(error).message;
  return `${error.message}: correct it in a new ${kind}, this one cannot be changed`;
}

function notTaken(
  shared: Shared,
  account: AccountHandle,
  error: unknown,
): { block: Block; retryAfterMs: number | undefined } {
  if (error instanceof ArtifactError) {
    const message = `the store takes nothing: ${error.message}`;
    return { block: { reason: "StoreNotReady", message, stalled: false }, retryAfterMs: undefined };
  }
  if (!(error instanceof ServiceError)) {
    const block = { reason: "Retrying", message: messageOf(error), stalled: false } as const;
    return { block, retryAfterMs: undefined };
  }
  const failure = failureOf(error);
  const { message } = failure;
  switch (failure.kind) {
    case "AccountHeld":
      holdAccountOn(shared, account, error);
      return { block: { reason: "AccountNotReady", message, stalled: false }, retryAfterMs: undefined };
    case "Wait":
      return { block: { reason: failure.reason, message, stalled: false }, retryAfterMs: failure.retryAfterMs };
    case "Stalled":
      return { block: { reason: failure.reason, message, stalled: true }, retryAfterMs: STALLED_RETRY_MS };
    case "Retry":
      return { block: { reason: failure.reason, message, stalled: false }, retryAfterMs: undefined };
  }
}

/** What was decided from an older object must not be sent for one that was suspended, or has an attempt already. */
function assertWanted<T extends Job>({ store }: Kind<T>, job: T): void {
  const stored = store.get(`${job.metadata.namespace}/${job.metadata.name}`);
  const before = job.status?.submission?.id;
  const ended = stored?.status?.phase === "Succeeded" || stored?.status?.phase === "Failed";
  const changed = stored?.status?.submission?.id !== before;
  if (stored === undefined || ended || changed || stored.spec.suspend || stored.spec.managedBy !== undefined) {
    throw new WithdrawnError("the job does not want this request any more");
  }
}

/** The outcome as the journal keeps it. */
function outcomeOf(accepted: Accepted): Record<string, string> {
  if ("taskID" in accepted) return { taskID: accepted.taskID };
  return { results: JSON.stringify(accepted.results) };
}

/** The outcome as the journal kept it. */
export function acceptedFrom({ taskID, results }: Record<string, string>): Accepted {
  return taskID === undefined ? { results: JSON.parse(results ?? "[]") as JobResult[] } : { taskID };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
