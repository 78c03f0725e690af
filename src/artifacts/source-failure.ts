import { ADDRESS_REFUSED } from "../base/address-guard.ts";
import { codeOf, connectionWords } from "../base/connection-words.ts";
import { ArtifactError } from "./errors.ts";

/** A URL for messages: signatures live in the query. */
export function shownURL(url: URL): string {
  return `${url.origin}${url.pathname}`.slice(0, 300);
}

/** Client errors that may pass. */
const PASSING = [408, 425, 429];

export function failedStatus(url: URL, status: number): ArtifactError {
  // A 2xx other than 200 and 206 has no result yet.
  const gone = status >= 300 && status < 500 && !PASSING.includes(status);
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
  if (code === ADDRESS_REFUSED) return new ArtifactError("AddressRefused", connectionWords(error), error);
  const silent = code === "UND_ERR_HEADERS_TIMEOUT" || code === "UND_ERR_BODY_TIMEOUT";
  const what = silent ? `gave nothing for ${idleMs / 1000} s` : `cannot be read: ${connectionWords(error)}`;
  return new ArtifactError("SourceUnreachable", `${shownURL(url)} ${what}`, error);
}

/** The error for an aborted signal: the reason itself when it is one of ours (a cap that was reached). */
export function abortion(signal: AbortSignal): ArtifactError {
  const { reason } = signal;
  if (reason instanceof ArtifactError) return reason;
  return new ArtifactError("Aborted", `the copy was ended: ${connectionWords(reason)}`, reason);
}
