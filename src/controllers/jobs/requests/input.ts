import { getCondition } from "../../../api/v1alpha1/conditions.ts";
import type { JobResult } from "../../../api/v1alpha1/job.ts";
import type { JobRef } from "../../../api/v1alpha1/video-job.ts";
import { StalledError, type StoreObject, type ValueReader } from "../../references.ts";
import { keyOfResult } from "../result-key.ts";
import { sourceOf } from "../sources.ts";
import type { Job } from "../types.ts";

/** An input whose URL is made when the request is sent. */
export type Input = {
  /** What the URL shows: the same for each URL of the same content. Has no secret. */
  identity: object;
  /** A secret. */
  url(): Promise<string>;
};

/** @throws StalledError | ArtifactError */
export async function objectInput(reader: ValueReader, namespace: string, object: StoreObject): Promise<Input> {
  const { uri, version, url } = await reader.storeLink(namespace, object);
  return { identity: { uri, version }, url };
}

/**
 * The result of another job: its copy in a bucket, or the URL that the service gave, while it is valid.
 * @throws StalledError when there is none; with reason WaitingForSource, the other job has not ended
 */
export async function resultInput(
  reader: ValueReader,
  job: Job & { kind: JobRef["kind"] },
  ref: JobRef,
): Promise<Input> {
  const { namespace } = job.metadata;
  const name = nameOf(ref, namespace);
  await assertNoCycle(reader, job);
  const source = await reader.job(namespace, ref);
  if (source === undefined) throw new StalledError("SourceNotFound", `${name} does not exist: create it`);
  const { phase = "Pending", conditions, results = [] } = source.status ?? {};
  if (phase === "Failed") {
    const why = getCondition(conditions, "Failed")?.message ?? "its status does not say why";
    throw failed(`${name} has failed: ${why}`);
  }
  if (phase !== "Succeeded") {
    throw new StalledError("WaitingForSource", `The job waits for the result of ${name}, which is ${phase}`);
  }
  const index = indexOfAudio(results);
  const result = results[index];
  if (result === undefined) throw failed(`${name} has neither an audio nor a video as its result`);
  const copy = await copyOf(reader, source, { ...ref, result, index });
  if (copy !== undefined && !(copy instanceof StalledError)) return copy;
  return urlOf(reader, source, { name, result, index, noCopy: copy?.message ?? "no copy of it is in a store" });
}

/** The audio, or without one, the video. -1: neither. */
function indexOfAudio(results: readonly JobResult[]): number {
  const audio = results.findIndex(({ kind }) => kind === "Audio");
  return audio >= 0 ? audio : results.findIndex(({ kind }) => kind === "Video");
}

type Taken = { result: JobResult; index: number };

/** Undefined: there is none. StalledError: why it has no URL. @throws ArtifactError */
async function copyOf(
  reader: ValueReader,
  source: Job,
  { kind, result, index }: Taken & Pick<JobRef, "kind">,
): Promise<Input | StalledError | undefined> {
  const { output } = source.spec;
  if (result.artifact === undefined || output === undefined) return undefined;
  // Objects of a list have no kind.
  const key = source.status?.reused?.keys[index] ?? keyOfResult({ ...source, kind } as Job, index, result.type);
  try {
    return await objectInput(reader, source.metadata.namespace, { storeRef: output.storeRef, key });
  } catch (error) {
    if (error instanceof StalledError) return error;
    throw error;
  }
}

function urlOf(
  reader: ValueReader,
  { metadata, status }: Job,
  { name, result, index, noCopy }: Taken & { name: string; noCopy: string },
): Input {
  const { url, expiresAt } = result;
  if (url === undefined) throw failed(`the result of ${name} has no URL that can be used, and ${noCopy}`);
  if (expiresAt !== undefined && reader.isPast(expiresAt)) {
    throw failed(`the URL of the result of ${name} expired at ${expiresAt}, and ${noCopy}`);
  }
  const { taskID, submission } = status ?? {};
  const made = taskID === undefined ? { uid: metadata.uid, submission: submission?.id } : { task: taskID };
  return { identity: { ...made, result: index }, url: async () => url };
}

function failed(message: string): StalledError {
  return new StalledError("SourceFailed", `${message}: delete that job and create it again`);
}

const nameOf = ({ kind, name }: JobRef, namespace: string): string => `${kind} ${namespace}/${name}`;

/** A job that waits for itself would wait forever. @throws StalledError with the path */
async function assertNoCycle(reader: ValueReader, job: Job & { kind: JobRef["kind"] }): Promise<void> {
  const { namespace } = job.metadata;
  const path = [nameOf({ kind: job.kind, name: job.metadata.name }, namespace)];
  for (let ref = sourceOf(job); ref !== undefined; ) {
    const name = nameOf(ref, namespace);
    const isCycle = path.includes(name);
    path.push(name);
    if (isCycle) {
      throw new StalledError(
        "SourceCycle",
        `audioFrom.jobRef leads in a circle, so that none of these jobs can be sent: ${path.join(" -> ")}: delete one and create it with another audioFrom`,
      );
    }
    const next = await reader.job(namespace, ref);
    ref = next && sourceOf(next);
  }
}
