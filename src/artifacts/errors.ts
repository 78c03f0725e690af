/**
 * What a person has to know of a failed copy:
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
 * - `Corrupt`: what the store gives back is not what was sent
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

/** Repeating these can never help: the source is what it is. */
const FINAL: readonly ArtifactErrorKind[] = ["SourceGone", "AddressRefused", "TooLarge", "InvalidKey"];
/** After these, the bytes that a copy has may be wrong. */
const DOUBTFUL: readonly ArtifactErrorKind[] = ["SourceChanged", "Corrupt"];

/** A copy or write that did not come about. The message never holds credentials or the query of a URL. */
export class ArtifactError extends Error {
  override readonly name = "ArtifactError";
  readonly kind: ArtifactErrorKind;

  constructor(kind: ArtifactErrorKind, message: string, cause?: unknown) {
    super(message, { cause });
    this.kind = kind;
  }

  /** Whether trying again later can help, perhaps after a person mended the store. */
  get retryable(): boolean {
    return !FINAL.includes(this.kind);
  }

  /** Whether a later copy can continue with the bytes that this one has. */
  get resumable(): boolean {
    return this.retryable && !DOUBTFUL.includes(this.kind);
  }
}
