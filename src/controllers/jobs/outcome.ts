import { ArtifactError } from "../../artifacts/errors.ts";
import { isConflict } from "../../kube/errors.ts";
import { ServiceError } from "../../provider/errors.ts";
import { UnwantedRequestError } from "../../submission/record.ts";
import { AcceptedError, type SubmitOnceResult } from "../../submission/submit-once.ts";
import type { AccountHandle } from "../account/registry.ts";
import type { ControllerDeps } from "../controller-deps.ts";
import { concernsKey, isUnpaid, messageOf, RETRIED_STALLS, type Verdict, verdictOf } from "../verdict.ts";
import { type Accepted, type Block, PartlyStoredError, type RequestOutcome } from "./types.ts";

const STALLED_RETRY_MS = 5 * 60_000;
const UNPAID_RETRY_MS = 1_000;

/** What the result of a paid request means for its job and for its account. `kind`: of the job. */
export function outcomeOf(
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
