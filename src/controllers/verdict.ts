import type { Reason } from "../api/v1alpha1/reasons.ts";
import { ArtifactError, type ArtifactErrorKind } from "../artifacts/errors.ts";
import { ServiceError } from "../provider/errors.ts";
import { StalledError } from "./references.ts";

/** How a step of a reconcile ended. Only report.ts converts it to conditions, an event and a requeue. */
export type Verdict =
  /** The object matches its spec. */
  | { kind: "Done"; againMs?: number }
  /** Continues without help: after `againMs`, or when an object that it depends on changes. */
  | ({ kind: "Waiting"; againMs?: number } & Cause)
  /** A user must act. Checked again after `againMs`. */
  | ({ kind: "Stalled"; againMs?: number } & Cause)
  /** Ended for good without reaching the spec. */
  | ({ kind: "Failed" } & Cause)
  /** Retried with backoff. */
  | ({ kind: "Retry"; error: unknown } & Cause);

/** Why an object is not done, as its conditions show it. */
export type Cause = { reason: Reason; message: string };

const RATE_LIMITED_MS = 2_000;
const REFERENCE_RETRY_MS = 15_000;

/**
 * The verdict on an object whose account is held. An account that exists and cannot be used shows on itself what it waits for; only the
 * object can show that its account does not exist, or does not allow its namespace.
 */
export function heldVerdict({
  reason,
  message,
  againMs,
}: Cause & { againMs?: number }): Extract<Verdict, { kind: "Waiting" | "Stalled" }> {
  const cause = { reason, message, ...(againMs === undefined ? {} : { againMs }) };
  return reason === "AccountNotReady" ? { kind: "Waiting", ...cause } : { kind: "Stalled", ...cause };
}

/** Converts every error of a step. An error of an unknown type is retried with backoff. */
export function verdictOf(error: unknown): Verdict {
  if (error instanceof ServiceError) return serviceVerdict(error);
  if (error instanceof ArtifactError) return artifactVerdict(error);
  if (error instanceof StalledError) {
    return { kind: "Stalled", reason: error.reason, message: error.message, againMs: REFERENCE_RETRY_MS };
  }
  return { kind: "Retry", reason: "Retrying", message: messageOf(error), error };
}

/** Converts an error of the remote service. The caller holds the account when `concernsKey`. */
export function serviceVerdict(error: ServiceError): Verdict {
  const { message, retryAfterMs = 0 } = error;
  const againMs = Math.max(RATE_LIMITED_MS, retryAfterMs);
  switch (error.kind) {
    case "Unauthorized":
      return { kind: "Waiting", reason: "AccountNotReady", message };
    case "RateLimited":
      return { kind: "Waiting", reason: "RateLimited", message, againMs };
    case "BreakerOpen":
      return { kind: "Waiting", reason: "Retrying", message, againMs };
    case "Forbidden":
      // The account's probe finds out whether the key itself is refused.
      return retriedByBreaker("OperationForbidden", error, "allow it at the service, or use another key");
    case "WrongPath":
      return retriedByBreaker(
        "PathNotFound",
        error,
        "correct spec.baseURL or spec.paths of the account, or the gateway before the service",
      );
    case "NotEntitled":
      return stalled("NotEntitled", `${message}: complete the enterprise verification of the account at the service`);
    case "InsufficientBalance":
    case "QuotaExceeded":
      return stalled("InsufficientBalance", `${message}: top up the account or raise its quota`);
    case "InvalidRequest":
    case "NotFound":
      return stalled("RemoteRefused", `${message}: change the spec`);
    case "Misconfigured":
      return stalled("AccountNotReady", `${message}: correct the account`);
    case "Unreachable":
      return { kind: "Retry", reason: "Unreachable", message, error };
    default:
      return { kind: "Retry", reason: "Retrying", message, error };
  }
}

/** Concerns the operation: it is tried again with backoff, or when the circuit breaker tries it, which sends nothing until then. */
function retriedByBreaker(reason: Reason, { message, delivery, retryAfterMs }: ServiceError, advice: string): Verdict {
  const againMs = delivery === "NotSent" && retryAfterMs !== undefined ? { againMs: retryAfterMs } : {};
  return { kind: "Stalled", reason, message: `${message}: ${advice}`, ...againMs };
}

/** Reasons of a stall that passes without a user, so that it is retried with backoff. */
export const RETRIED_STALLS: readonly Reason[] = ["OperationForbidden", "PathNotFound"];

/** Whether the error is about the API key: every object of the account waits until the key is replaced. */
export function concernsKey(error: unknown): error is ServiceError {
  return error instanceof ServiceError && error.kind === "Unauthorized";
}

/** Whether the balance is empty: all paid work of the account waits until somebody pays. */
export function isUnpaid(error: unknown): error is ServiceError {
  return error instanceof ServiceError && error.kind === "InsufficientBalance";
}

/** What each kind of store error means. `retried` ones pass without help. */
const ARTIFACT_ERRORS: Record<ArtifactErrorKind, { reason: Reason; retried: boolean }> = {
  SourceGone: { reason: "Unreachable", retried: true },
  SourceUnreachable: { reason: "Unreachable", retried: true },
  SourceChanged: { reason: "Unreachable", retried: true },
  AddressRefused: { reason: "AddressNotAllowed", retried: false },
  TooLarge: { reason: "Unreachable", retried: true },
  TooSlow: { reason: "Unreachable", retried: true },
  InvalidKey: { reason: "InvalidSpec", retried: false },
  Denied: { reason: "StoreDenied", retried: false },
  NotFound: { reason: "BucketNotFound", retried: false },
  StoreUnreachable: { reason: "Unreachable", retried: true },
  NoSpace: { reason: "StoreFull", retried: false },
  Corrupt: { reason: "StoreCorrupt", retried: false },
  Aborted: { reason: "Unreachable", retried: true },
};

export function artifactVerdict(error: ArtifactError): Verdict {
  const { reason, retried } = ARTIFACT_ERRORS[error.kind];
  const { message } = error;
  return retried ? { kind: "Retry", reason, message, error } : stalled(reason, message);
}

function stalled(reason: Reason, message: string): Verdict {
  return { kind: "Stalled", reason, message };
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
