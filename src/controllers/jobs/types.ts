import { cut } from "../../api/v1alpha1/conditions.ts";
import type { Consumption, JobResult } from "../../api/v1alpha1/job.ts";
import { ANNOTATIONS } from "../../api/v1alpha1/meta.ts";
import type { SpeechJobSpec, SpeechJobStatus } from "../../api/v1alpha1/speech-job.ts";
import type { VideoJobSpec, VideoJobStatus } from "../../api/v1alpha1/video-job.ts";
import type { ArtifactWriter } from "../../artifacts/types.ts";
import type { Clock } from "../../clock.ts";
import type { SendOptions } from "../../provider/call-options.ts";
import type { Operation } from "../../provider/operations.ts";
import type { AccountHandle } from "../account/registry.ts";
import type { Kind } from "../controller-deps.ts";
import type { ValueReader } from "../references.ts";
import type { Job, PaidServices } from "./job-kinds.ts";

export type { Job } from "./job-kinds.ts";

/** The spec fields that all kinds have. */
export type JobSpec = Pick<
  SpeechJobSpec & VideoJobSpec,
  | "accountRef"
  | "suspend"
  | "activeDeadlineSeconds"
  | "backoffLimit"
  | "onSubmissionUnknown"
  | "ttlSecondsAfterFinished"
  | "output"
  | "managedBy"
>;
export type JobStatus = Omit<VideoJobStatus, "model"> & Pick<SpeechJobStatus, "firstAudioMs">;

/** The response to a paid request: a task to follow, or the results. An empty list: the request succeeded without any result. */
export type Accepted = { taskID: string } | { results: JobResult[]; firstAudioMs?: number };

/** What a paid request needs to be sent. */
export type Sending = {
  session: PaidServices;
  options: SendOptions;
  clock: Clock;
  /**
   * Opens the artifact for bytes; undefined without `spec.output`. `type`: file type, such as mp3. `maxBytes`: the most that
   * the request can make.
   */
  openArtifact: ((type: string, maxBytes: number) => Promise<OpenArtifact>) | undefined;
  /** Called with the first audio of a stream. `ms`: time since the request was sent. */
  onFirstAudio: (ms: number) => void;
};
export type OpenArtifact = ArtifactWriter;

/** One paid request, ready to be sent once. */
export type PaidRequest = {
  operation: Operation;
  /** What the service has to make. */
  consumption: Consumption;
  /** The parameters. The status stores their hash only. */
  body: unknown;
  /**
   * @throws ServiceError `delivery` has the outcome. After `options.beforeSend` has resolved, any other error means that the
   * outcome is unknown
   */
  send(sending: Sending): Promise<Accepted>;
};

/** Characters of a resubmit token that `status.lastHandledResubmitToken` can store. */
const TOKEN_LIMIT = 1024;

/** The annotation that releases a halted job when its value changes. A value is compared in the form that the status stores. */
export function resubmitTokenOf({ metadata }: Job): string | undefined {
  const token = metadata.annotations?.[ANNOTATIONS.resubmitToken];
  return token === undefined ? undefined : cut(token, TOKEN_LIMIT);
}

/** Characters of a task ID that `status.taskID` can store. */
const TASK_ID_LIMIT = 512;

/** The task that the annotation names to which a halted job is to be attached. Undefined: it names none. */
export function attachTaskOf({ metadata }: Job): string | undefined {
  const taskID = metadata.annotations?.[ANNOTATIONS.attachTask]?.trim() ?? "";
  return taskID === "" ? undefined : cut(taskID, TASK_ID_LIMIT);
}

/** The spec asks for a request that the service does not support. */
export class InvalidJobError extends Error {
  override readonly name = "InvalidJobError";
}

/** What differs between the kinds of jobs. */
export type JobAdapter<T extends Job> = {
  kind: Kind<T>;
  /** @throws InvalidJobError | MissingReferenceError */
  prepare(job: T, account: AccountHandle, reader: ValueReader): Promise<PaidRequest>;
  /** Values of Secrets and ConfigMaps that the request contains: the service can quote them. @throws MissingReferenceError */
  secrets(job: T, reader: ValueReader): Promise<string[]>;
  /** File type of the bytes that the response contains. They go to `spec.output`. Undefined: the response contains none. */
  typeOfBytes(job: T): string | undefined;
  /** Status fields that only this kind has. */
  extraStatus(job: T): Partial<T["status"] & object>;
};
