import type { LookupFunction } from "node:net";
import { cut } from "../../api/v1alpha1/conditions.ts";
import type { Consumption, JobResult } from "../../api/v1alpha1/job.ts";
import { ANNOTATIONS } from "../../api/v1alpha1/meta.ts";
import type { SpeechJob, SpeechJobSpec, SpeechJobStatus } from "../../api/v1alpha1/speech-job.ts";
import type { VideoJob, VideoJobSpec, VideoJobStatus } from "../../api/v1alpha1/video-job.ts";
import type { ArtifactWriter } from "../../artifacts/types.ts";
import type { Clock } from "../../base/clock.ts";
import type { SendWebhook, WebhookOutcome } from "../../base/webhook.ts";
import type { SendOptions } from "../../provider/call-options.ts";
import type { Operation } from "../../provider/operations.ts";
import type { TaskResult } from "../../provider/tasks/task-result.ts";
import type { AccountSession } from "../../provider/types.ts";
import type { Reference } from "../../runtime/reference-poller.ts";
import type { SubmissionRecord } from "../../submission/record.ts";
import { AcceptedError } from "../../submission/submit-once.ts";
import type { Work } from "../../submission/work.ts";
import type { AccountHandle } from "../account/registry.ts";
import type { Kind } from "../controller-deps.ts";
import type { ValueReader } from "../references.ts";
import type { Cause } from "../verdict.ts";

/** A job of any kind. A new kind of job is added to this file, and to no other file of this folder. */
export type Job = SpeechJob | VideoJob;

/** The part of the remote service that paid requests use. */
type PaidServices = Pick<AccountSession, "speech" | "video"> & Pick<AccountHandle, "resultLookup">;

/** The operation that a job pays for. Objects of a list have no `kind`, so the spec decides. */
export function paidOperation({ spec }: Job): Operation {
  if ("imageToVideo" in spec && spec.imageToVideo !== undefined) return "submitImageToVideo";
  if (!("model" in spec)) return "submitVideoToVideo";
  if (spec.model === "speech-2.6-hd") return "submitSpeech";
  return spec.stream ? "streamSpeech" : "synthesizeSpeech";
}

/** A job as SpendingAdmission knows it. */
export function workOf(job: Job): Work {
  const { uid, namespace } = job.metadata;
  return { uid, namespace, operation: paidOperation(job), quantity: job.status?.consumption?.quantity };
}

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
  | "reuse"
  | "managedBy"
  | "maxCost"
  | "callback"
>;
export type JobStatus = Omit<VideoJobStatus, "model"> & Pick<SpeechJobStatus, "firstAudioMs">;

/**
 * The response to a paid request: a task to follow, or the results. An empty list: the request succeeded without any result.
 * `unrecorded`: they are stored, and the record by which they are reused is not.
 */
export type Accepted = { taskID: string } | { results: JobResult[]; firstAudioMs?: number; unrecorded?: boolean };

/** The service accepted the request, and a part of its results is stored. */
export class PartlyStoredError extends AcceptedError {
  override readonly name = "PartlyStoredError";
  readonly results: JobResult[];
  constructor(cause: unknown, results: JobResult[], message: string) {
    super(cause, message);
    this.results = results;
  }
}

/** Called while a request runs. */
export type Progress = {
  /** It waits until its artifact is open. False: no longer. */
  opening(opens: boolean): void;
  /** The first byte leaves. */
  sent(): void;
  /** The first audio of a stream has arrived. `ms`: time since the request was sent. */
  firstAudio(ms: number): void;
};

/** What a paid request needs to be sent. */
export type SendContext = {
  session: PaidServices;
  options: SendOptions;
  clock: Clock;
  /**
   * Opens the artifact for bytes; undefined without `spec.output`. `type`: file type, such as mp3. `maxBytes`: the most that
   * the request can make.
   */
  openArtifact: ((type: string, maxBytes: number) => Promise<ArtifactWriter>) | undefined;
  progress: Pick<Progress, "firstAudio">;
};

/** One paid request, ready to be sent once. */
export type PaidRequest = {
  operation: Operation;
  /** What the service has to make. */
  consumption: Consumption;
  /** The parameters. The status stores their hash only. */
  body: unknown;
  /** Hash of the request, if its results are reused. */
  reuseKey?: string | undefined;
  /**
   * @throws ServiceError `delivery` has the outcome. After `options.beforeSend` has resolved, any other error means that the
   * outcome is unknown
   */
  send(sending: SendContext): Promise<Accepted>;
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
  /** @throws InvalidJobError | StalledError */
  prepare(job: T, account: AccountHandle, reader: ValueReader): Promise<PaidRequest>;
  /** What `prepare` reads, each object once or more. */
  references(job: T): Reference[];
  /** Values of Secrets and ConfigMaps that the request contains: the service can quote them. @throws StalledError */
  secrets(job: T, reader: ValueReader): Promise<string[]>;
  /** File type of the bytes that the response contains. They go to `spec.output`. Undefined: the response contains none. */
  typeOfBytes(job: T): string | undefined;
  /** Status fields that only this kind has. */
  extraStatus(job: T): Partial<T["status"] & object>;
};

/**
 * Why a job cannot continue now. `stalled`: a user must act; otherwise it continues without help. `againMs`: when to check
 * again, because no event announces the change.
 */
export type Block = Cause & { stalled: boolean; againMs?: number };

/** The outcome of a paid request (api: "A paid request is sent at most once per attempt"). */
export type RequestOutcome = { record: SubmissionRecord } & (
  | { kind: "Accepted"; accepted: Accepted }
  /** Surely without effect. It is sent again with backoff, and not before `retryAfterMs`. */
  | { kind: "NotTaken"; block: Block; retryAfterMs: number | undefined }
  /** Surely without effect. Sending it again cannot help. */
  | { kind: "Refused"; reason: "InvalidSpec" | "NotEntitled"; message: string }
  /**
   * The service accepted and charges the request, and its response is incomplete or unreadable. Only a user's decision sends another
   * request. `results`: what Mooring stored of the response.
   */
  | { kind: "Unusable"; cause: string; results: JobResult[] }
  /** As `Unusable`: the audio is larger than the request can make. */
  | { kind: "TooLarge"; message: string }
  /** It may have taken effect. */
  | { kind: "Unknown"; cause: string }
  /** Nothing was sent: the job was paused, suspended, changed or deleted first. */
  | { kind: "Withdrawn" }
);

/** How a copy ended. `results` includes the artifacts that are stored by now, and fresh URLs. */
export type CopyEnd = { kind: "Stored"; results: JobResult[] } | (Block & { kind: "Failed"; results: JobResult[] });

/** `urgent`: the job is deleted and waits for the copy. `task`: what the task showed, unless the status shows it. */
export type Copy = {
  bytes: number;
  totalBytes: number | undefined;
  urgent: boolean;
  task?: TaskResult | undefined;
  end?: CopyEnd;
};

/** Copies of results to stores that are under way. They run beside the reconciles and outlive any of them. */
export type Copies = {
  find(uid: string): Copy | undefined;
  /** `wake` is called when the copy has ended. */
  begin(uid: string, wake: () => void, run: (copy: Copy, signal: AbortSignal) => Promise<CopyEnd>): void;
  /** The job is deleted: the copy ends within `DELETED_COPY_MS`, and within a minute if its source is slow. Idempotent. */
  hurry(uid: string): void;
  /** The end of the copy is in the status. `failed`: the next copy starts after a backoff. */
  forget(uid: string, failed: boolean): void;
  /** ms since the epoch. */
  backoffUntil(uid: string): number | undefined;
  /** Another process copies the results, or will. */
  abandon(uid: string): void;
  /** Aborts all copies. Each continues where it was after the next start. */
  stop(): Promise<void>;
};

/** Keeps the tasks of unfinished jobs polled, each by the account that it was submitted with. */
export type TaskFollower = {
  /** Polls the job's task until `forget`, and keeps its slot, unless polls fail for too long. Idempotent. */
  follow(job: Job, taskID: string): Promise<void>;
  pollNow(job: Job): void;
  /** Polls the task now, once per `time` (ms since the epoch): later polls follow at the pace of the account. */
  pollAfter(job: Job, time: number): void;
  forget(job: Job): void;
};

/** Callbacks that are being sent. They run beside the reconciles; a stop ends them, and the next process sends them again. */
export type Callbacks = {
  /** `outcome`: undefined while it is under way. */
  find(uid: string): { outcome?: WebhookOutcome } | undefined;
  /** `wake` is called when it has ended. `run` never rejects, unless the signal aborts. */
  begin(job: Job, wake: () => void, run: (signal: AbortSignal) => Promise<WebhookOutcome>): void;
  /** The outcome is in the status. */
  forget(uid: string): void;
  /** Forgets the callbacks of jobs that had this key of a kind and another UID. */
  forgetFormer(key: string, uid: string | undefined): void;
  send: SendWebhook;
  /** Judges the addresses of receivers: without an account, and of Services of the job's namespace. */
  lookups: { public: LookupFunction; service: LookupFunction };
  stop(): Promise<void>;
};

/** Counts and times over all jobs (metrics.ts). */
export type JobMetrics = {
  /** An attempt of a callback has ended. */
  called(kind: string, job: Job, outcome: WebhookOutcome["kind"]): void;
  /** A status was written after that of `job`. */
  moved(kind: string, job: Job, status: JobStatus | undefined): void;
};
