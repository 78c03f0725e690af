import type { Sanitizer } from "../base/sanitizer.ts";
import type { Operation } from "./operations.ts";

/** What is wrong. Callers decide by it. */
export type ServiceErrorKind =
  /** 401: no call of the account works until a user corrects the key. */
  | "Unauthorized"
  /**
   * 403 about access: the key is not allowed to use this operation, or this object. The key itself is refused only if the
   * account's probe fails too. Without a status, nothing was sent: the operation met this several times in a row.
   */
  | "Forbidden"
  /** The operation needs a real-name or enterprise verification that the account lacks. */
  | "NotEntitled"
  /** 404, or 400 with a reason that says the same: the named object does not exist. */
  | "NotFound"
  /** 404, 405 or 410 to a request that names no object: the account's path is wrong, or a gateway does not know it. */
  | "WrongPath"
  /** The service refused the parameters; or they break the rules of the interface, and nothing was sent. */
  | "InvalidRequest"
  /** The account's balance is too low. */
  | "InsufficientBalance"
  /** A quota or a budget of the account or of the key is used up. */
  | "QuotaExceeded"
  /** 429: retry after `retryAfterMs`. */
  | "RateLimited"
  /** The service reports that it failed (5xx, 408 or 499 in its own format). */
  | "ServerError"
  /** No connection: DNS, refused, TLS, connect timeout. Nothing was sent. */
  | "Unreachable"
  /** No complete response in time, or a silent stream. */
  | "Timeout"
  /** The connection broke before the response was complete. */
  | "ConnectionLost"
  /** A response of a gateway, proxy or load balancer instead of the service. */
  | "GatewayError"
  /** 2xx with a body that the interface does not show, or that reports an error. */
  | "UnreadableResponse"
  /** The call was aborted: by the caller's signal, or because another process may serve the account. */
  | "Aborted"
  /** The circuit breaker of the operation is open after repeated failures. Nothing was sent. */
  | "BreakerOpen"
  /** The account's base URL, path or key cannot work. Nothing was sent. */
  | "Misconfigured";

/**
 * What is known of the request's effect. `NotSent`: no byte left; a retry is safe. `Refused`: the response proves that the
 * request had no effect and is not charged (http/classify.ts). `Accepted`: a 2xx whose body cannot be used; the service took the
 * request (interface: Errors), so never send it again. `Unknown`: the request may have taken effect; never retry a paid one
 * automatically.
 */
export type Delivery = "NotSent" | "Refused" | "Accepted" | "Unknown";

/** The only error of the remote service. Its texts never contain the API key. */
export class ServiceError extends Error {
  override readonly name = "ServiceError";
  readonly operation: Operation;
  readonly kind: ServiceErrorKind;
  readonly delivery: Delivery;
  /** HTTP status; undefined without a response. */
  declare readonly status?: number;
  /** The service's own code. */
  declare readonly code?: string;
  /** The service's own explanation, sanitized: at most 300 characters. */
  declare readonly reason?: string;
  /** How long the service asks to wait, in ms. */
  declare readonly retryAfterMs?: number;
  /** The answer has more bytes or records than are read. */
  declare readonly tooLarge?: boolean;

  constructor(details: ServiceErrorDetails) {
    const { operation, kind, delivery, message, status, code, reason, retryAfterMs, tooLarge, cause } = details;
    super(`${operation}: ${message}`, cause === undefined ? undefined : { cause });
    this.operation = operation;
    this.kind = kind;
    this.delivery = delivery;
    if (status !== undefined) this.status = status;
    if (code !== undefined && code !== "") this.code = code;
    if (reason !== undefined && reason !== "") this.reason = reason;
    if (retryAfterMs !== undefined) this.retryAfterMs = retryAfterMs;
    if (tooLarge === true) this.tooLarge = true;
  }
}

/** Whether the request may have changed something at the service, or surely has. */
export function mayHaveTakenEffect({ delivery }: ServiceError): boolean {
  return delivery === "Accepted" || delivery === "Unknown";
}

/** Whether the call was aborted before it was sent, or this process may not send it. Such an error says nothing about the service. */
export function isGivenUp(error: unknown): boolean {
  return error instanceof ServiceError && error.kind === "Aborted" && error.delivery === "NotSent";
}

export type ServiceErrorDetails = {
  operation: Operation;
  kind: ServiceErrorKind;
  delivery: Delivery;
  /** What happened, without the operation's name. */
  message: string;
  status?: number | undefined;
  code?: string | undefined;
  reason?: string | undefined;
  retryAfterMs?: number | undefined;
  tooLarge?: boolean;
  cause?: unknown;
};

/** Longest quotation of the service in an error. */
const WORDS_LIMIT = 300;

/** A text of the service for an error. */
export function cleanWords(text: string, sanitize: Sanitizer): string {
  return sanitize(text, WORDS_LIMIT);
}
