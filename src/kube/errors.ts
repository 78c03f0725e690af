import type { KubeStatus } from "./types.ts";

/** The API server answered with an error, or could not be reached (`status` 0). */
export class KubeError extends Error {
  override readonly name = "KubeError";
  /** HTTP status, or 0 when no answer came. */
  readonly status: number;
  /** metav1.StatusReason: `NotFound`, `Conflict`, `AlreadyExists`, `Expired`, ...; "" when the body was no Status. */
  readonly reason: string;
  /** From the Retry-After header in seconds or `details.retryAfterSeconds`; at most five minutes. */
  readonly retryAfterMs: number | undefined;

  constructor(
    message: string,
    detail: { status: number; reason?: string; retryAfterMs?: number | undefined; cause?: unknown },
  ) {
    super(message, detail.cause === undefined ? undefined : { cause: detail.cause });
    this.status = detail.status;
    this.reason = detail.reason ?? "";
    this.retryAfterMs = detail.retryAfterMs;
  }
}

/** The longest pause that an API server, or a proxy before it, can ask for: a wrong value must not stop a watch for years. */
const LONGEST_PAUSE_MS = 5 * 60_000;

/** ms; undefined: no number is given. */
function pauseOf(seconds: number): number | undefined {
  return Number.isFinite(seconds) ? Math.min(LONGEST_PAUSE_MS, Math.max(0, seconds * 1000)) : undefined;
}

/** Reads an error answer; `what` names the request, e.g. `PATCH gpuendpoints/a`. */
export function errorFromAnswer(what: string, status: number, body: string, retryAfter?: string | null): KubeError {
  return errorOf(
    what,
    { code: status, message: body.slice(0, 200) || `HTTP ${status}`, ...parseStatus(body) },
    retryAfter,
  );
}

/** An ERROR event of a watch, as an error. */
export function errorFromEvent(what: string, status: KubeStatus): KubeError {
  return errorOf(what, { code: 500, message: "the watch ended with an error", ...status });
}

function errorOf(
  what: string,
  { code = 0, reason, message, details }: KubeStatus,
  retryAfter?: string | null,
): KubeError {
  const seconds = Number(retryAfter ?? details?.retryAfterSeconds ?? Number.NaN);
  return new KubeError(`${what}: ${message}`, { status: code, reason: reason ?? "", retryAfterMs: pauseOf(seconds) });
}

function parseStatus(body: string): KubeStatus | undefined {
  try {
    const value: unknown = JSON.parse(body);
    if (typeof value === "object" && value !== null && "kind" in value && value.kind === "Status") {
      return value as KubeStatus;
    }
  } catch {
    return undefined;
  }
  return undefined;
}

const hasStatus = (error: unknown, status: number): boolean => error instanceof KubeError && error.status === status;

export const isNotFound = (error: unknown): boolean => hasStatus(error, 404);
export const isForbidden = (error: unknown): boolean => hasStatus(error, 403);
/** 409 of an update that lost an optimistic lock (or of a create whose name is taken: `reason` tells). */
export const isConflict = (error: unknown): boolean => hasStatus(error, 409);
export const isAlreadyExists = (error: unknown): boolean =>
  error instanceof KubeError && error.reason === "AlreadyExists";
/** 410: the resource version or the continue token is too old; only a new list helps. */
export const isGone = (error: unknown): boolean => hasStatus(error, 410);
export const isTooManyRequests = (error: unknown): boolean => hasStatus(error, 429);
