import type { JobResult } from "../../api/v1alpha1/job.ts";
import type { SpeechJob, SpeechJobSpec, SpeechJobStatus } from "../../api/v1alpha1/speech-job.ts";
import type { VideoJob, VideoJobSpec, VideoJobStatus } from "../../api/v1alpha1/video-job.ts";
import type { ArtifactWriter } from "../../artifacts/types.ts";
import type { Clock } from "../../clock.ts";
import type { SendOptions } from "../../provider/call-options.ts";
import type { Operation } from "../../provider/operations.ts";
import type { AccountSession } from "../../provider/types.ts";
import type { Work } from "../../submission/account-line.ts";
import type { AccountHandle } from "../account/registry.ts";
import type { ValueReader } from "../references.ts";
import type { Kind } from "../shared.ts";

export type Job = SpeechJob | VideoJob;

/** What both kinds of job have in common. */
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

/** What a paid request gave: a task to follow, or the results themselves (none: the service was done, and gave nothing). */
export type Accepted = { taskID: string } | { results: JobResult[]; firstAudioMs?: number };

/** What sending a paid request works with. */
export type Sending = {
  session: Pick<AccountSession, "speech" | "video">;
  options: SendOptions;
  clock: Clock;
  /** Where bytes go; undefined without `spec.output`. `type` is the file type, such as mp3. */
  openArtifact: ((type: string) => Promise<OpenArtifact>) | undefined;
  /** The first audio of a stream came, that many ms after the request was sent. */
  onFirstAudio: (ms: number) => void;
};
export type OpenArtifact = ArtifactWriter;

/** One paid request, ready to be sent once. */
export type PaidRequest = {
  operation: Operation;
  /** The parameters; only their hash is kept. */
  body: unknown;
  /**
   * @throws ServiceError what became of it is in `delivery`; anything else that is thrown after `options.beforeSend` has
   * resolved leaves it unknown
   */
  send(sending: Sending): Promise<Accepted>;
};

/** The operation that a job pays for. */
export function paidOperation({ spec }: Job): Operation {
  if ("imageToVideo" in spec && spec.imageToVideo !== undefined) return "submitImageToVideo";
  if (!("model" in spec)) return "submitVideoToVideo";
  if (spec.model === "speech-2.6-hd") return "submitSpeech";
  return spec.stream ? "streamSpeech" : "synthesizeSpeech";
}

/** A job as the admission of paid work knows it. */
export function workOf(job: Job): Work {
  const { uid = "", namespace = "" } = job.metadata;
  return { uid, namespace, operation: paidOperation(job) };
}

/** The spec asks for something that cannot be sent. */
export class InvalidJobError extends Error {
  override readonly name = "InvalidJobError";
}

/** What a kind of job adds to the machine that both share. */
export type JobAdapter<T extends Job> = {
  kind: Kind<T>;
  /** @throws InvalidJobError | MissingReferenceError */
  prepare(job: T, account: AccountHandle, reader: ValueReader): Promise<PaidRequest>;
  /** File type of the bytes that the answer brings, which go to `spec.output` as they come; undefined: it brings none. */
  typeOfBytes(job: T): string | undefined;
  /** Status fields of this kind alone. */
  extraStatus(job: T): Partial<T["status"] & object>;
};
