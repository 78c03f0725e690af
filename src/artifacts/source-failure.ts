import { ADDRESS_REFUSED } from "../net/address-guard.ts";
import { ArtifactError } from "./errors.ts";

/** A URL for messages: signatures live in the query. */
export function shownURL(url: URL): string {
  return `${url.origin}${url.pathname}`.slice(0, 300);
}

/** Statuses below 500 that may pass. */
const PASSING = [408, 425, 429];

export function failedStatus(url: URL, status: number): ArtifactError {
  const gone = status < 500 && !PASSING.includes(status);
  const hint = gone ? ": the URL has expired or was never good" : "";
  const error = new Error(`HTTP ${status}`);
  return new ArtifactError(
    gone ? "SourceGone" : "SourceUnreachable",
    `${shownURL(url)} answers HTTP ${status}${hint}`,
    error,
  );
}

/** What broke a download. An `ArtifactError` passes through. */
export function sourceFailure(error: unknown, url: URL, signal: AbortSignal, idleMs: number): ArtifactError {
  if (error instanceof ArtifactError) return error;
  if (signal.aborted) return abortion(signal);
  const code = codeOf(error);
  if (code === ADDRESS_REFUSED) return new ArtifactError("AddressRefused", words(error), error);
  const silent = code === "UND_ERR_HEADERS_TIMEOUT" || code === "UND_ERR_BODY_TIMEOUT";
  const what = silent ? `gave nothing for ${idleMs / 1000} s` : `cannot be read: ${words(error)}`;
  return new ArtifactError("SourceUnreachable", `${shownURL(url)} ${what}`, error);
}

/** The error for an aborted signal: the reason itself when it is one of ours (a cap that was reached). */
export function abortion(signal: AbortSignal): ArtifactError {
  const { reason } = signal;
  if (reason instanceof ArtifactError) return reason;
  return new ArtifactError("Aborted", `the copy was ended: ${words(reason)}`, reason);
}

export function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

/** A connection tried on several addresses fails with all their errors at once, and with an empty message. */
export function words(error: unknown): string {
  const parts: unknown[] = error instanceof AggregateError ? error.errors : [error];
  return [...new Set(parts.map(partWords))].join("; ");
}

function partWords(part: unknown): string {
  if (!(part instanceof Error)) return String(part);
  // The error of a failed connection contains the address. The message must not show which address a name resolves to.
  if ("address" in part && "syscall" in part) return `${String(part.syscall)} ${codeOf(part)}`;
  return part.message || codeOf(part) || part.name;
}
