import { isInFlight } from "./in-flight.ts";
import type { Job } from "./types.ts";

/** Which job makes the results of a request, among the jobs that write to one store. */
export type RequestClaims = {
  /**
   * Claims a request for a job until `release`. A job that has sent the request, or may have sent it, has it without a claim.
   * @returns the name of another job that has it
   */
  claim(hash: string, job: Job): string | undefined;
  /** The job does not send the request now. */
  release(uid: string): void;
};

/** @param jobsWith the jobs in the namespace whose status shows this hash */
export function createRequestClaims(jobsWith: (index: string) => Iterable<Job>): RequestClaims {
  const claims = new Map<string, { uid: string; name: string }>();
  const keys = new Map<string, string>();

  function release(uid: string): void {
    const key = keys.get(uid);
    if (key === undefined) return;
    keys.delete(uid);
    claims.delete(key);
  }

  return {
    claim(hash, job) {
      const { uid, name } = job.metadata;
      const key = requestIndex(job, hash);
      release(uid); // the request can have changed with what the spec refers to
      const holder = claims.get(key);
      if (holder !== undefined && holder.uid !== uid) return holder.name;
      for (const other of jobsWith(key)) {
        if (other.metadata.uid !== uid && isUnderWay(other)) return other.metadata.name;
      }
      claims.set(key, { uid, name });
      keys.set(uid, key);
      return undefined;
    },
    release,
  };
}

/** Key of the index of jobs by the request that their status shows. */
export function requestIndex({ metadata, spec }: Job, hash: string): string {
  return `${metadata.namespace}/${spec.output?.storeRef.name ?? ""}/${hash}`;
}

/** The status shows a request whose results may come to the store. */
export function isUnderWay({ status }: Pick<Job, "status">): boolean {
  const { phase, reuseKey } = status ?? {};
  return reuseKey !== undefined && (isInFlight(status) || phase === "Storing" || phase === "Halted");
}
