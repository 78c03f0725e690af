import type { Sanitizer } from "../../base/sanitizer.ts";
import { cleanWords, type Delivery, ServiceError, type ServiceErrorKind } from "../errors.ts";
import { OPERATIONS, type Operation } from "../operations.ts";
import { errorBodyOf, isServicesOwn, type ServiceErrorBody } from "../wire/errors.ts";
import { jsonIn } from "../wire/json.ts";

/** An answer outside 2xx, read as far as it came. */
export type RefusedAnswer = {
  status: number;
  contentType: string;
  retryAfter: string | undefined;
  body: string;
};

/** Reasons as the service spells them, first match wins. A reason outweighs the status. */
const BY_REASON: readonly [RegExp, ServiceErrorKind][] = [
  [/^(SERVERLESS_)?ENDPOINT_NOT_FOUND$|^RESOURCE_NOT_FOUND$|^TASK_NOT_FOUND$/, "NotFound"],
  [/REAL_?NAME|ENTERPRISE_?(IDENTITY_?)?VERIF|IDENTITY_?VERIF|NOT_ENTITLED/, "NotEntitled"],
  [/RATE_?LIMIT|TOO_MANY_REQUESTS|THROTTL/, "RateLimited"],
  [/BALANCE|ARREARS|PAYMENT_REQUIRED|INSUFFICIENT_FUNDS/, "InsufficientBalance"],
  [/QUOTA|BUDGET/, "QuotaExceeded"],
  [/^UNAUTH|API_?KEY|ACCESS_?TOKEN|INVALID_TOKEN|TOKEN_EXPIRED|AUTHENTICATION/, "Unauthorized"],
];

/** The same by the words of a message, if the reason says nothing. Not used when the service itself failed. */
const BY_WORDS: readonly [RegExp, ServiceErrorKind][] = [
  [/real[- ]?name|(enterprise|identity)( identity)? (verif|authenti|certif)|实名|企业认证/i, "NotEntitled"],
  [
    /(insufficient|not enough|low)( account)? (balance|credit|funds)|balance (is )?(not enough|insufficient)/i,
    "InsufficientBalance",
  ],
  [/余额不足|欠费/, "InsufficientBalance"],
  [/quota (is )?(exceeded|exhausted|used up)|(exceeds?|exceeded|over) (the |your )?(quota|budget)/i, "QuotaExceeded"],
];

const ABOUT_ACCESS = /key|token|auth|permission|forbidden|access|denied|credential|^$/i;
const PAGE = /^\s*(<!doctype|<html|<\?xml|<head|<body)/i;

/** The error for a response outside 2xx: by reason first, by status second. */
export function refusal(operation: Operation, answer: RefusedAnswer, sanitize: Sanitizer, now: number): ServiceError {
  const { status } = answer;
  const body = errorBodyOf(jsonIn(answer.body));
  const own = isOwnAnswer(status, answer, body);
  const kind = own
    ? kindOf(operation, status, body)
    : status === 429
      ? "RateLimited"
      : status === 401
        ? "Unauthorized"
        : "GatewayError";
  const reason = cleanWords(own && body !== undefined ? words(body) : "", sanitize);
  return new ServiceError({
    operation,
    kind,
    delivery: deliveryOf(status, body !== undefined),
    status,
    code: body === undefined ? undefined : cleanWords(body.code, sanitize),
    reason,
    retryAfterMs: parseRetryAfter(answer.retryAfter, now),
    message:
      kind === "GatewayError" ? gatewayMessage(status) : `the service answered ${status}${reason ? `: ${reason}` : ""}`,
  });
}

/**
 * The statuses that prove that the request had no effect. Every other status proves nothing, whatever its body: with any 5xx, the service
 * can fail after it took and charged the request; 408 and 499 end the exchange, not the work; 303, and by custom 302, answer a POST that
 * took effect. `OwnFormat`: the proof needs a JSON object, whose fields the interface does not show. A page, plain text or an empty body
 * can come from a gateway that replaced the answer to a request which took effect. `AnyBody`: the status alone is the proof.
 */
const PROOFS: Readonly<Record<number, "OwnFormat" | "AnyBody">> = {
  400: "OwnFormat", // the service checks parameters before it starts the work
  401: "AnyBody", // RFC 9110: the request has not been applied, for lack of credentials
  402: "OwnFormat", // the service sells nothing without payment
  403: "OwnFormat", // permissions are checked before the work; a firewall's page may follow it
  404: "OwnFormat", // the object of the request does not exist
  405: "OwnFormat", // no operation takes the method at this path
  409: "OwnFormat", // the request conflicts with the present state and is not applied
  410: "OwnFormat", // what the request acts on is gone
  413: "OwnFormat", // the body is too large to be read
  415: "OwnFormat", // the body cannot be read
  422: "OwnFormat", // the service checks parameters before it starts the work
  429: "AnyBody", // a rate limiter, also a gateway's, answers instead of passing the request on
};

/** The delivery that a response outside 2xx proves. `ownFormat`: its body is a JSON object. */
function deliveryOf(status: number, ownFormat: boolean): Delivery {
  const proof = PROOFS[status];
  return proof === "AnyBody" || (proof === "OwnFormat" && ownFormat) ? "Refused" : "Unknown";
}

/** Whether the service itself failed, or gave up waiting, by the status. */
function isServiceFailure(status: number): boolean {
  return status >= 500 || status === 408 || status === 499;
}

/** Whether the service itself answered, so that its words decide the kind. `deliveryOf` decides what the response proves. */
function isOwnAnswer(status: number, answer: RefusedAnswer, body: ServiceErrorBody | undefined): boolean {
  if (isServiceFailure(status)) return body !== undefined && isServicesOwn(body);
  if (status < 400) return false;
  if (body !== undefined) return true;
  const text = answer.body.trim();
  if (status === 403) return !PAGE.test(text) && !/html/i.test(answer.contentType);
  return text === "";
}

/** A 403 does not prove that the key is refused: the account's probe decides. */
function kindOf(operation: Operation, status: number, body: ServiceErrorBody | undefined): ServiceErrorKind {
  const byReason = kindByReason(body);
  const kind = byReason ?? kindByWords(status, body);
  if (status === 403 && kind === "Unauthorized") return "Forbidden";
  return isWrongPath(operation, status, { kind, byReason }) ? "WrongPath" : kind;
}

const PATH_STATUSES: readonly number[] = [404, 405, 410];

/** A request that names no object cannot lack one. One that names it in its body lacks it only when the reason says so. */
function isWrongPath(
  operation: Operation,
  status: number,
  { kind, byReason }: { kind: ServiceErrorKind; byReason: ServiceErrorKind | undefined },
): boolean {
  const { names } = OPERATIONS[operation];
  if (!PATH_STATUSES.includes(status) || names === "InPath") return false;
  return kind === "InvalidRequest" || (kind === "NotFound" && (names === undefined || byReason === undefined));
}

const spelled = (body: ServiceErrorBody | undefined) => ({
  reason: (body?.reason ?? "")
    .trim()
    .toUpperCase()
    .replace(/[\s-]+/g, "_"),
  code: (body?.code ?? "").trim().toUpperCase(),
});

function kindByReason(body: ServiceErrorBody | undefined): ServiceErrorKind | undefined {
  const { reason, code } = spelled(body);
  const known = [reason, code].flatMap((word) => BY_REASON.filter(([pattern]) => pattern.test(word)));
  return known[0]?.[1];
}

function kindByWords(status: number, body: ServiceErrorBody | undefined): ServiceErrorKind {
  const { reason } = spelled(body);
  if (isServiceFailure(status)) return "ServerError";
  const message = body?.message ?? "";
  const told = BY_WORDS.find(([pattern]) => pattern.test(message));
  if (told !== undefined) return told[1];
  if (status === 401) return "Unauthorized";
  if (status === 402) return "InsufficientBalance";
  if (status === 403) return ABOUT_ACCESS.test(`${reason} ${message}`.trim()) ? "Forbidden" : "InvalidRequest";
  if (status === 404) return "NotFound";
  return status === 429 ? "RateLimited" : "InvalidRequest";
}

function gatewayMessage(status: number): string {
  if (status < 400) {
    return `answered ${status}, a redirect, which is not followed; point the account's baseURL at the service itself`;
  }
  return `a gateway answered ${status} instead of the service`;
}

/** What the service says in an error body, in one line. */
export function words(body: ServiceErrorBody): string {
  if (body.message === "" || body.message === body.reason) return body.reason;
  return body.reason === "" ? body.message : `${body.reason}: ${body.message}`;
}

/** The longest pause that a service can ask for: a wrong header must not stop an operation for years. */
const LONGEST_PAUSE_MS = 3_600_000;

/** Retry-After in seconds or as an HTTP date, as milliseconds from now; undefined when it is absent or invalid. */
export function parseRetryAfter(header: string | undefined, now: number): number | undefined {
  const value = header?.trim() ?? "";
  if (/^\d+(\.\d+)?$/.test(value)) return Math.min(LONGEST_PAUSE_MS, Math.ceil(Number(value) * 1000));
  if (!/[a-z]{3}/i.test(value)) return undefined;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.min(LONGEST_PAUSE_MS, Math.max(0, date - now));
}
