import type { Reason } from "../api/v1alpha1/reasons.ts";
import { ServiceError } from "../provider/errors.ts";

/** What a failed call means for the object that made it. */
export type Failure =
  /** A person must act; asked again only slowly. */
  | { kind: "Stalled"; reason: Reason; message: string }
  /** The key is refused: the account is held, and with it everything that uses it. */
  | { kind: "AccountHeld"; message: string }
  /** Goes on by itself after `retryAfterMs`; not an error of the object. */
  | { kind: "Wait"; reason: Reason; message: string; retryAfterMs: number }
  /** Goes on by itself with growing pauses. */
  | { kind: "Retry"; reason: Reason; message: string };

const RATE_LIMITED_MS = 2_000;

/** One place decides what each kind of service error leads to. */
export function failureOf(error: ServiceError): Failure {
  const message = error.message;
  switch (error.kind) {
    case "Unauthorized":
      return { kind: "AccountHeld", message };
    case "RateLimited":
      return { kind: "Wait", reason: "RateLimited", message, retryAfterMs: error.retryAfterMs ?? RATE_LIMITED_MS };
    case "BreakerOpen":
      return { kind: "Wait", reason: "Retrying", message, retryAfterMs: error.retryAfterMs ?? RATE_LIMITED_MS };
    case "NotEntitled":
      return {
        kind: "Stalled",
        reason: "NotEntitled",
        message: `${message}: complete the enterprise verification of the account at the service`,
      };
    case "InsufficientBalance":
    case "QuotaExceeded":
      return {
        kind: "Stalled",
        reason: "InsufficientBalance",
        message: `${message}: top up the account or raise its quota`,
      };
    case "InvalidRequest":
    case "NotFound":
      return { kind: "Stalled", reason: "RemoteRefused", message: `${message}: change the spec` };
    case "Misconfigured":
      return { kind: "Stalled", reason: "AccountNotReady", message: `${message}: correct the account` };
    case "Unreachable":
      return { kind: "Retry", reason: "Unreachable", message };
    default:
      return { kind: "Retry", reason: "Retrying", message };
  }
}

export function isUnknownDelivery(error: unknown): error is ServiceError {
  return error instanceof ServiceError && error.delivery === "Unknown";
}
