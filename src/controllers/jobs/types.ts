import type { SpeechJob, SpeechJobSpec } from "../../api/speech-job.ts";
import type { VideoJob, VideoJobSpec, VideoJobStatus } from "../../api/video-job.ts";
import type { CallOptions } from "../../service/call.ts";
import type { ServiceClient } from "../../service/client.ts";
import type { Operation } from "../../service/operations.ts";
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
export type JobStatus = Omit<VideoJobStatus, "model">;

/** What a paid request gave: a task to follow, or the result itself. Values fit into the journal. */
export type Accepted = { taskID: string } | { url: string; type: string };

/** One paid request, ready to be sent once. */
export type PaidRequest = {
  operation: Operation;
  /** What is sent; only its hash is kept. */
  body: unknown;
  send(client: ServiceClient, options: CallOptions): Promise<Accepted>;
};

/** The spec asks for something that cannot be sent. */
export class InvalidJobError extends Error {
  override readonly name = "InvalidJobError";
}

/** What a kind of job adds to the machine that both share. */
export type JobAdapter<T extends Job> = {
  kind: Kind<T>;
  /** @throws InvalidJobError | MissingReferenceError */
  prepare(job: T, account: AccountHandle, reader: ValueReader): Promise<PaidRequest>;
  /** Status fields of this kind alone. */
  extraStatus(job: T): Partial<T["status"] & object>;
};
