import type { Consumption, JobResult } from "../../api/v1alpha1/job.ts";
import type { BoundAccount, Submission } from "../../api/v1alpha1/meta.ts";
import type { TaskResult } from "../../provider/tasks/task-result.ts";
import type { Reference } from "../../runtime/reference-poller.ts";
import type { OpenSubmission } from "../../submission/record.ts";
import { nextAttempt } from "../../submission/record.ts";
import type { AccountHandle } from "../account/registry.ts";
import type { ResolvedStore } from "../artifact-store/registry.ts";
import type { Cause } from "../verdict.ts";
import type { JobDeps } from "./deps.ts";
import { type Block, type Job, type JobSpec, type JobStatus, type PaidRequest, paidOperation } from "./types.ts";

/** The state of a job. It derives from the status and the requests under way in this process. */
export type JobState =
  /** Nothing is sent, or everything that was sent ended without a result. `attempt`: the next one, counted from 1. */
  | { kind: "Waiting"; attempt: number }
  /** A paid request is under way, or its outcome is not in the status yet. */
  | { kind: "Sending"; record: OpenSubmission | undefined }
  /** The outcome of the request is unknown. A user decides what happens next. */
  | { kind: "Halted" }
  /** The service has accepted a task. */
  | { kind: "Tracking"; taskID: string }
  /** The task has succeeded. The results are copied to the store. */
  | { kind: "Storing" }
  | { kind: "Succeeded" }
  | { kind: "Failed" };

export type StateKind = JobState["kind"];

/**
 * @param record of a request of another process whose outcome the status does not show
 * @param sending a request is under way in this process
 */
export function stateOf(status: JobStatus | undefined, record: OpenSubmission | undefined, sending: boolean): JobState {
  const { phase, submission, taskID } = status ?? {};
  if (phase === "Succeeded" || phase === "Failed") return { kind: phase };
  if (sending || record !== undefined) return { kind: "Sending", record };
  if (phase === "Halted" || phase === "Storing") return { kind: phase };
  // A task belongs to the submission that was accepted last. A later attempt replaces it.
  if (taskID !== undefined && submission?.state === "Accepted") return { kind: "Tracking", taskID };
  return { kind: "Waiting", attempt: nextAttempt(submission) };
}

/**
 * The request that the status shows, or must have shown, without an outcome, and that another process sent. What `identity`, this
 * process, sends is in `RunningRequests`; what the status shows of it besides was not sent.
 */
export function openRecordOf(job: Job, identity: string): OpenSubmission | undefined {
  const { metadata, status } = job;
  const { phase = "Pending", submission, account, submitTime } = status ?? {};
  const { uid, creationTimestamp } = metadata;
  const request = { uid, operation: paidOperation(job), account };
  if (submission?.state === "Intended") {
    const { state: _, sender = "", ...shown } = submission;
    return sender === identity || isFinished(phase) ? undefined : { ...shown, ...request, sender };
  }
  const wasSent = phase === "Queued" || phase === "Running" || (phase === "Pending" && submitTime !== undefined);
  const isUnexplained = phase === "Submitting" || (wasSent && submission === undefined);
  if (!isUnexplained) return undefined;
  const { id, time = creationTimestamp, specHash = "unknown" } = submission ?? {};
  const attempt = nextAttempt(submission);
  return {
    ...request,
    id: id === undefined ? uid : `${uid}-${attempt}`,
    attempt,
    specHash,
    sender: "",
    time,
  };
}

const isFinished = (phase: JobStatus["phase"]) => phase === "Succeeded" || phase === "Failed";

/** Why a job fails. */
type End = Cause & { result?: TaskResult | undefined };
/** The task or the request succeeded. `submitted`: the request whose response contained the results. */
type Delivered = {
  results: JobResult[];
  result?: TaskResult | undefined;
  submitted?: Submitted | undefined;
};
/** Results to copy. `result`: of their task, unless the status shows it. */
export type ToCopy = Pick<Delivered, "results" | "result">;
/** What the status shows of a request that the service accepted or may have accepted. */
export type Submitted = {
  record: OpenSubmission;
  firstAudioMs?: number | undefined;
};

/** Everything that a reconcile can observe, by kind, with its data. Times in ms since the epoch. */
export type Observations = {
  // Before a request
  Suspended: object;
  PastDeadline: End;
  /** The account or the store is not ready. `reuseKey`: of the request that another job has sent. */
  Blocked: Block & { reuseKey?: string };
  /** Something that the job refers to is missing or may not be read. A change of `references` wakes the job. */
  MissingReference: Cause & { references: readonly Reference[] };
  /**
   * SpendingAdmission makes the job wait and wakes it when it has a slot. `brief`: too short to be shown. `consumption`: what the request
   * asks for, when it was prepared.
   */
  NotAdmitted: Block & { brief: boolean; consumption?: Consumption };
  /** The pause after a failed task, or after an unknown submission under Resubmit. The status shows it. */
  TooSoon: { until: number };
  /** The backoff after a request or a copy that failed. The status shows the error. */
  BackingOff: { until: number };
  InvalidSpec: End;
  Clear: { request: PaidRequest; attempt: number };
  /** The store has the results of the same request. */
  Reused: Required<Pick<JobStatus, "reused" | "reuseKey">> & { results: JobResult[] };

  // The outcome of a request
  /** No response yet. `sent`: the first byte left; before that the request waits for the account's rate limit. */
  UnderWay: { sent: boolean; opens?: boolean; since: number; firstAudioMs?: number | undefined };
  /** Another process waits for the response. */
  UnderWayElsewhere: object;
  Accepted: Submitted & { taskID: string };
  /** Surely without effect. It is sent again at `until`. `record`: if the status shows it. */
  NotTaken: Block & { record: OpenSubmission | undefined; until: number };
  /** Nothing was sent: the job was paused, suspended, changed or deleted first. `record`: if the status shows it. */
  Withdrawn: { record: OpenSubmission | undefined; until: number };
  /** Surely without effect. Sending it again cannot help. */
  Refused: End & { record: OpenSubmission };
  Unknown: Submitted & { cause: string };
  UnknownButResubmit: Submitted & { cause: string };
  /** The service accepted the request, and its response cannot be used: it is not sent again, also under Resubmit. */
  Unusable: Submitted & { cause: string; results: JobResult[] };

  // A halted job
  /** `outdated`: the status shows why an earlier value of the annotation attached no task. */
  Unreleased: { outdated: boolean };
  Released: { token: string };
  /** The service shows the task that the annotation names. `submission`: the request whose outcome was unknown. */
  Attachable: { taskID: string; account: BoundAccount; submission: Submission };
  /** `permanent`: a retry does not help, but it is read again in case that an object changed. */
  NotAttached: Cause & { permanent: boolean };

  // A task
  /** `pollAfter`: the deadline has passed, and no poll is newer. */
  Unfinished: { result: TaskResult | undefined; pollAfter?: number | undefined };
  /** Its polls have failed, or shown nothing to go on with, since `since`. */
  PollsFailing: Cause & { since: number };
  /** They fail for so long that the job gives its slot back. It is neither failed nor sent again. */
  PollsLost: Cause & { since: number };
  TaskFailed: End;
  TaskFailedRetry: { message: string };

  // Results
  Results: Delivered;
  ResultsToStore: Delivered;
  /** The response is all that there is. A task that succeeded without results is polled on. */
  NoResults: End & { submitted: Submitted };

  // A copy
  NotCopying: ToCopy;
  Copying: { note: string };
  Stored: ToCopy;
  CopyFailed: Block & { results: JobResult[] };
  /** The URLs expired, and there is no task to show other ones. */
  ResultsLost: End;
};

export type ObservationKind = keyof Observations;
export type Observation<K extends ObservationKind = ObservationKind> = {
  [P in K]: { kind: P } & Observations[P];
}[K];

/** What can be observed in each state. Nothing changes a finished job. */
export type ObservationsIn = {
  Waiting:
    | "Suspended"
    | "PastDeadline"
    | "Blocked"
    | "MissingReference"
    | "NotAdmitted"
    | "TooSoon"
    | "BackingOff"
    | "InvalidSpec"
    | "Reused"
    | "Clear";
  Sending:
    | "UnderWay"
    | "UnderWayElsewhere"
    | "Accepted"
    | "Results"
    | "ResultsToStore"
    | "NoResults"
    | "NotTaken"
    | "Withdrawn"
    | "Refused"
    | "Unknown"
    | "UnknownButResubmit"
    | "Unusable";
  Halted: "Unreleased" | "Released" | "Attachable" | "NotAttached";
  Tracking:
    | "Blocked"
    | "Unfinished"
    | "PollsFailing"
    | "PollsLost"
    | "Results"
    | "ResultsToStore"
    | "TaskFailed"
    | "TaskFailedRetry"
    | "PastDeadline"
    // The results of a job of a batch are copied before its status shows them.
    | "NotCopying"
    | "Copying"
    | "Stored";
  Storing: "Blocked" | "BackingOff" | "NotCopying" | "Copying" | "Stored" | "CopyFailed" | "ResultsLost";
  Succeeded: never;
  Failed: never;
};
export type ObservationIn<S extends StateKind> = Observation<ObservationsIn[S]>;

/** What observations and steps are computed from. `now`: ms since the epoch. */
export type JobContext = { job: Job; now: number };

/** What an observation reads. `signal`: of the reconcile. */
export type ObserveContext<T extends Job> = { deps: JobDeps<T>; job: T; now: number; signal: AbortSignal };

/** An observation, with the account and the store that its step uses. */
export type Observed = { observation: Observation; account?: AccountHandle; store?: ResolvedStore | undefined };

/** The results of a task or of a response: at least one. */
export function observeDelivery(
  results: JobResult[],
  spec: JobSpec,
  { unrecorded = false, ...from }: { result?: TaskResult | undefined; submitted?: Submitted; unrecorded?: boolean },
): Observation<"Results" | "ResultsToStore"> {
  const stored = spec.output === undefined || (!unrecorded && results.every(({ artifact }) => artifact !== undefined));
  return { kind: stored ? "Results" : "ResultsToStore", results, ...from };
}

/** The deadline covers all attempts and takes precedence over backoffLimit, as in batch/v1 Job. */
export function pastDeadline({ job, now }: JobContext): Observation<"PastDeadline"> | undefined {
  const { kind, spec, status } = job;
  const deadline = deadlineOf(job);
  if (deadline === undefined || now < deadline) return undefined;
  const task = status?.taskID === undefined ? "The job" : `Task ${status.taskID}`;
  const message = `${task} did not finish within activeDeadlineSeconds ${spec.activeDeadlineSeconds}: it may still run and be charged; create a new ${kind} to try again`;
  return { kind: "PastDeadline", reason: "DeadlineExceeded", message };
}

/** When the job exceeds activeDeadlineSeconds, ms since the epoch. Counted from the first submission, remote queueing included. */
export function deadlineOf({ spec, status }: Job): number | undefined {
  if (spec.activeDeadlineSeconds === undefined || status?.firstSubmitTime === undefined) return undefined;
  return Date.parse(status.firstSubmitTime) + spec.activeDeadlineSeconds * 1000;
}

/** The job waits for its account or its store. */
export function blocked(block: Block): Observed {
  return { observation: { kind: "Blocked", ...block } };
}

/** The store of `spec.output`. Undefined: the results are not stored. */
export function storeOf<T extends Job>({ deps, job }: ObserveContext<T>): ResolvedStore | undefined {
  const { output } = job.spec;
  return output === undefined ? undefined : deps.stores.resolve(job.metadata.namespace, output.storeRef);
}
