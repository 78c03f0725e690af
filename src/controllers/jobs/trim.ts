import type { Job } from "./types.ts";

/**
 * Finished jobs stay in the cluster, often by the thousand, and nothing sends their request again. The informers' copies of
 * them do without the text of the request. A job that has not finished keeps everything.
 * @param trim removes the text of a request
 */
export function trimFinished<T extends Job>(trim: (job: T) => void): (job: T) => void {
  return (job) => {
    const { phase } = job.status ?? {};
    if (phase === "Succeeded" || phase === "Failed") trim(job);
  };
}
