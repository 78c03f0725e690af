import { codeOf, connectionWords } from "../../base/connection-words.ts";
import { ArtifactError, type ArtifactErrorKind } from "../errors.ts";

const KINDS: Record<string, ArtifactErrorKind> = {
  ENOENT: "NotFound",
  ENOTDIR: "NotFound",
  EACCES: "Denied",
  EPERM: "Denied",
  EROFS: "Denied",
  ENOSPC: "NoSpace",
  EDQUOT: "NoSpace",
  ENAMETOOLONG: "InvalidKey",
  ELOOP: "InvalidKey",
};

/** What a failed call of the file system means. An `ArtifactError` passes through. */
export function volumeFailure(error: unknown, shown: string): ArtifactError {
  if (error instanceof ArtifactError) return error;
  const kind = KINDS[codeOf(error)] ?? "StoreUnreachable";
  return new ArtifactError(kind, `${shown}: ${connectionWords(error)}`, error);
}
