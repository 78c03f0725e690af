import type { JobRef, SourceJob } from "../../api/v1alpha1/video-job.ts";

/** The job whose result an unfinished job takes. */
export function sourceOf({ spec, status }: SourceJob): JobRef | undefined {
  if (!("videoToVideo" in spec) || status?.phase === "Succeeded" || status?.phase === "Failed") return undefined;
  return spec.videoToVideo?.input.audioFrom?.jobRef;
}

/** Key of the index of jobs by the job whose result they take. */
export function sourceIndex(namespace: string, { kind, name }: { kind: string; name: string }): string {
  return `${kind}/${namespace}/${name}`;
}

/** The jobs of the cluster as the process knows them. */
export type JobSources = {
  find(namespace: string, ref: JobRef): SourceJob | undefined;
  /** The jobs that take the result of the job with this key of the index. */
  takers(index: string): SourceJob[];
  /** ms since the epoch. */
  now(): number;
};
