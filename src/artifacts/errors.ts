import { ADDRESS_REFUSED } from "../base/address-guard.ts";
import { codeOf, connectionWords } from "../base/connection-words.ts";

/**
 * Kinds of failed copies:
 * - `SourceGone`: the source refuses for good (4xx: expired, never there)
 * - `SourceUnreachable`: no answer, no bytes, a 5xx, or the connection broke too often
 * - `SourceChanged`: the source contradicts what it gave or named before; the next copy starts again
 * - `AddressRefused`: the source or the store is at an address that may not be used
 * - `TooLarge`, `TooSlow`: over the cap on size or time
 * - `InvalidKey`: a key or path that would leave the store
 * - `Denied`: the store refuses the credentials, or they do not allow this
 * - `NotFound`: the bucket, or the folder of the volume, does not exist
 * - `StoreUnreachable`: the store does not answer, or fails
 * - `NoSpace`: the store is full
 * - `Corrupt`: the store returns other bytes than were sent
 * - `Aborted`: by the caller's signal
 */
export type ArtifactErrorKind =
  | "SourceGone"
  | "SourceUnreachable"
  | "SourceChanged"
  | "AddressRefused"
  | "TooLarge"
  | "TooSlow"
  | "InvalidKey"
  | "Denied"
  | "NotFound"
  | "StoreUnreachable"
  | "NoSpace"
  | "Corrupt"
  | "Aborted";

/** A repetition of these cannot help. */
const FINAL: readonly ArtifactErrorKind[] = ["SourceGone", "AddressRefused", "TooLarge", "InvalidKey"];
/** After these, the bytes that a copy has may be wrong. */
const DOUBTFUL: readonly ArtifactErrorKind[] = ["SourceChanged", "Corrupt"];

/** A copy or write that failed. The message never has credentials or the query of a URL. */
export class ArtifactError extends Error {
  override readonly name = "ArtifactError";
  readonly kind: ArtifactErrorKind;

  constructor(kind: ArtifactErrorKind, message: string, cause?: unknown) {
    super(message, { cause });
    this.kind = kind;
  }

  /** Whether a later try can help, perhaps after somebody repaired the store. */
  get retryable(): boolean {
    return !FINAL.includes(this.kind);
  }

  /** Whether a later copy can continue with the bytes that this one has. */
  get resumable(): boolean {
    return this.retryable && !DOUBTFUL.includes(this.kind);
  }
}

/** A URL for messages, without the query, which has the signature. */
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
export function abortion({ reason }: AbortSignal, ended = "the copy was ended"): ArtifactError {
  if (reason instanceof ArtifactError) return reason;
  return new ArtifactError("Aborted", `${ended}: ${connectionWords(reason)}`, reason);
}
