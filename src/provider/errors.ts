import type { Operation } from "./operations.ts";

/** What went wrong, as a caller has to tell it apart. */
export type ServiceErrorKind =
  /** 401, or 403 about the key: nothing of this account works until the key is mended. */
  | "Unauthorized"
  /** The account has not passed the real-name or enterprise verification that the operation needs. */
  | "NotEntitled"
  /** 404, or 400 with a reason that says the same: what was named does not exist. */
  | "NotFound"
  /** The service, or the rules of the interface before anything was sent, refused the parameters. */
  | "InvalidRequest"
  /** There is not enough money on the account. */
  | "InsufficientBalance"
  /** A quota or a budget of the account or key is used up. */
  | "QuotaExceeded"
  /** 429: try again after `retryAfterMs`. */
  | "RateLimited"
  /** The service says that it failed (5xx, 408 or 499 in its own words). */
  | "ServerError"
  /** No connection: DNS, refused, TLS, connect timeout. Nothing was sent. */
  | "Unreachable"
  /** No complete answer in time, or a stream that went silent. */
  | "Timeout"
  /** The connection broke before the answer was complete. */
  | "ConnectionLost"
  /** A page of a gateway, proxy or load balancer instead of an answer of the service. */
  | "GatewayError"
  /** 2xx whose body is not what the interface shows, or reports an error. */
  | "UnreadableResponse"
  /** The caller's signal was aborted. */
  | "Aborted"
  /** The operation failed so often that it is spared calls for a moment. Nothing was sent. */
  | "BreakerOpen"
  /** The account's own settings cannot work: base URL, path, key. Nothing was sent. */
  | "Misconfigured";

/**
 * What is known of the request's effect. `NotSent`: no byte of it left, it may be tried again freely. `Refused`: the
 * response proves that it had no effect (delivery.ts). `Unknown`: it may have taken effect; a paid request must not be sent
 * again by itself.
 */
export type Delivery = "NotSent" | "Refused" | "Unknown";

/** The one error of the remote service. Its texts never contain the API key. */
export class ServiceError extends Error {
  override readonly name = "ServiceError";
  readonly operation: Operation;
  readonly kind: ServiceErrorKind;
  readonly delivery: Delivery;
  /** HTTP status, where there was an answer. */
  declare readonly status?: number;
  /** The service's own code. */
  declare readonly code?: string;
  /** The service's own words: at most 300 characters, without control characters. */
  declare readonly reason?: string;
  /** How long the service asked to wait. */
  declare readonly retryAfterMs?: number;

  constructor(details: ServiceErrorDetails) {
    const { operation, kind, delivery, message, status, code, reason, retryAfterMs, cause } = details;
    super(`${operation}: ${message}`, cause === undefined ? undefined : { cause });
    this.operation = operation;
    this.kind = kind;
    this.delivery = delivery;
    if (status !== undefined) this.status = status;
    if (code !== undefined && code !== "") this.code = code;
    if (reason !== undefined && reason !== "") this.reason = reason;
    if (retryAfterMs !== undefined) this.retryAfterMs = retryAfterMs;
  }
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
  cause?: unknown;
};

/** A shorter value is no secret, and hiding it would make words unreadable. */
const SHORTEST_HIDDEN = 4;

/**
 * Makes words from outside fit for a condition or a log line: no key, none of the values in `hidden`, no control characters,
 * at most 300 characters.
 */
export function cleanWords(text: string, apiKey: string, hidden: readonly string[] = []): string {
  const words = withoutValues(text, hidden);
  const bare = words.replace(/Bearer\s+[^\s"',;<>]{12,}/gi, "Bearer [API key]");
  const redacted = apiKey === "" ? bare : bare.replaceAll(apiKey, "[API key]");
  const plain = redacted.replace(/[\p{Cc}\p{Cf}\s]+/gu, " ").trim();
  const characters = [...plain];
  return characters.length <= 300 ? plain : `${characters.slice(0, 299).join("")}…`;
}

/** The text with each of the values in `hidden` replaced by "(hidden)". */
export function withoutValues(text: string, hidden: readonly string[]): string {
  return hidden
    .filter((value) => value.length >= SHORTEST_HIDDEN)
    .sort((a, b) => b.length - a.length)
    .reduce((shown, value) => shown.replaceAll(value, "(hidden)"), text);
}
