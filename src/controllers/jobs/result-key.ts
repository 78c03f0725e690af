import { artifactKey, LONGEST_EXTENSION, namedKey } from "../../artifacts/key.ts";
import type { Job } from "./types.ts";

/** The key of a result in its store. */
export function keyOfResult(job: Job, index: number, type: string | undefined): string {
  const { namespace, name, uid } = job.metadata;
  const kind = job.kind ?? "Job";
  const { prefix, name: given } = job.spec.output ?? {};
  if (given !== undefined) return namedKey(prefix, given, index, type ?? "");
  return artifactKey({ prefix, namespace, kind, name, uid, index, type: type ?? "" });
}

/** At least as long as the key of every result: the service decides how many there are, and of which type. */
export function longestKeyOf(job: Job): string {
  return keyOfResult(job, 999, "x".repeat(LONGEST_EXTENSION));
}
