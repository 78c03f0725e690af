import { getCondition } from "../../api/v1alpha1/conditions.ts";
import { rfc3339 } from "../../base/clock.ts";
import { backoffDelay } from "../../runtime/backoff.ts";
import type { Reference } from "../../runtime/reference-poller.ts";
import { type SubmissionRecord, submissionOf } from "../../submission/record.ts";
import { isOfBatch, shownAfterMs } from "./batch-owner.ts";
import type { JobContext, Observation, Submitted, ToCopy } from "./observations.ts";
import { RELEASE_SLOT_AFTER_MS } from "./polls.ts";
import type { JobOutcome } from "./status.ts";
import type { Job, JobStatus, PaidRequest } from "./types.ts";

/** What a reconcile is to do. The steps are pure: `controller.ts` does it. */
export type Step = {
  /** Undefined: the status does not change. */
  outcome?: JobOutcome;
  /** Status fields besides those of the outcome. Without an outcome, only these change. */
  written?: Partial<JobStatus>;
  /** A paid request to be sent. The status shows its record right before the first byte. */
  send?: { request: PaidRequest; attempt: number };
  /** The results whose copy starts. */
  copy?: ToCopy;
  /** The job needs a poll of its task after this time, ms since the epoch. The task is polled at once. */
  pollAfter?: number;
  /** The job cannot continue before one of these changes. Default: nothing. */
  waitsFor?: readonly Reference[];
  /** When to reconcile again, ms from now. Undefined: when something changes. */
  againMs?: number;
};

/** 10 s, doubled with each failed task, at most 6 minutes, as in batch/v1 Job. */
const TASK_BACKOFF = { baseMs: 10_000, capMs: 6 * 60_000, jitter: 0, random: () => 0 };
/** Between unknown submissions under Resubmit. */
const RESUBMIT_BACKOFF = { baseMs: 1_000, capMs: 5 * 60_000, jitter: 0, random: () => 0 };
/** Re-check interval for a job past its deadline, because a poll without a change does not wake it. */
const LATE_POLL_MS = 2_000;
/** Re-check interval for queued jobs, in case a wake-up is lost. The admission forgets a job after 150 s. */
const TURN_MS = 60_000;
/** Re-check interval for a request of another process, in case its end is not seen. */
const SENDER_MS = 2_000;

export function unchanged({ until }: Observation<"BackingOff">, { now }: JobContext): Step {
  return { againMs: Math.max(0, until - now) };
}

export function withdraw({ record, until }: Observation<"Withdrawn">, { now }: JobContext): Step {
  const written = record && { submission: submissionOf(record, "NotSent", now) };
  return { ...(written && { written }), againMs: Math.max(0, until - now) };
}

// Before a request

export function showSuspended(): Step {
  return { outcome: { phase: "Suspended" } };
}

export function showBlock({ kind: _, againMs, reuseKey, ...block }: Observation<"Blocked">): Step {
  return {
    outcome: { phase: "Pending", ...block },
    ...(againMs === undefined ? {} : { againMs }),
    ...(reuseKey === undefined ? {} : { written: { reuseKey } }),
  };
}

/** Re-check interval for an object of a store, and in case the end of another job is not seen: nothing announces that it is there. */
const OBJECT_MS = 30_000;

export function showMissingReference({ reason, message, references }: Observation<"MissingReference">): Step {
  const again = references.length === 0 ? { againMs: OBJECT_MS } : {};
  const stalled = reason !== "WaitingForSource";
  return { outcome: { phase: "Pending", reason, message, stalled }, waitsFor: references, ...again };
}

export function showAdmission(observation: Observation<"NotAdmitted">, { job }: JobContext): Step {
  const { reason, message, stalled, brief, consumption } = observation;
  if (brief) return { againMs: shownAfterMs(job) };
  const written = consumption === undefined ? {} : { written: { consumption } };
  return { outcome: { phase: "Pending", reason, message, stalled }, ...written, againMs: TURN_MS };
}

export function showPause({ until }: Observation<"TooSoon">, { job, now }: JobContext): Step {
  const attempt = (job.status?.submission?.attempt ?? 0) + 1;
  const message = `Attempt ${attempt} follows at ${rfc3339(until)}`;
  return {
    outcome: { phase: "Pending", reason: "Retrying", message, stalled: false },
    againMs: Math.max(0, until - now),
  };
}

export function send({ request, attempt }: Observation<"Clear">, { job }: JobContext): Step {
  return { send: { request, attempt }, againMs: shownAfterMs(job) };
}

/** What the status shows right before the first byte. */
export function showRecord(record: SubmissionRecord, { consumption, reuseKey }: PaidRequest): Step {
  const { id, attempt, specHash, keyVersion, sender, time, account } = record;
  const submission = { id, attempt, specHash, state: "Intended", keyVersion, sender, time } as const;
  const message = `Attempt ${attempt} is about to be sent`;
  return {
    outcome: { phase: "Pending", reason: "Submitting", message, stalled: false },
    written: { account, consumption, submission, reuseKey },
  };
}

/** Nothing was sent, so nothing counts. */
export function reuse({ results, reused, reuseKey }: Observation<"Reused">): Step {
  return { outcome: { phase: "Succeeded", result: undefined, results }, written: { reused, reuseKey } };
}

// The outcome of a request

export function showSending(observation: Observation<"UnderWay">, { job, now }: JobContext): Step {
  const { sent, opens, since, firstAudioMs } = observation;
  const early = since + shownAfterMs(job) - now;
  if (early > 0 && (firstAudioMs === undefined || isOfBatch(job))) return { againMs: early };
  if (opens === true) {
    const message = "The request waits until its artifact is open: other artifacts are being written to stores";
    return { outcome: { phase: "Pending", reason: "Submitting", message, stalled: false }, againMs: TURN_MS };
  }
  if (!sent) {
    const message = "The request waits for the account's rate limit";
    return { outcome: { phase: "Pending", reason: "RateLimited", message, stalled: false } };
  }
  return {
    outcome: { phase: "Submitting" },
    ...(firstAudioMs === undefined ? {} : { written: { firstAudioMs } }),
  };
}

export function awaitSender(): Step {
  return { againMs: SENDER_MS };
}

export function track({ taskID, ...submitted }: Observation<"Accepted">, { job, now }: JobContext): Step {
  return {
    outcome: { phase: "Active", result: undefined },
    written: { ...submission(job, submitted, "Accepted", now), taskID },
  };
}

export function showNotTaken(observation: Observation<"NotTaken">, { now }: JobContext): Step {
  const { reason, message, stalled, until, record } = observation;
  return {
    outcome: { phase: "Pending", reason, message, stalled },
    ...(record === undefined ? {} : { written: { submission: submissionOf(record, "NotSent", now) } }),
    againMs: Math.max(0, until - now),
  };
}

export function sendAgain({ cause, ...submitted }: Observation<"UnknownButResubmit">, { job, now }: JobContext): Step {
  const delayMs = backoffDelay(submitted.record.attempt, RESUBMIT_BACKOFF);
  const message = `Attempt ${submitted.record.attempt} may have been accepted and charged (${cause}): the request is sent again because onSubmissionUnknown is Resubmit`;
  return {
    outcome: { phase: "Pending", reason: "SubmissionUnknown", message, stalled: false },
    written: {
      ...submission(job, submitted, "Unknown", now),
      nextAttemptTime: rfc3339(ceilSecond(now + delayMs)),
    },
    againMs: ceilSecond(now + delayMs) - now,
  };
}

// A task

export function showProgress({ result, pollAfter }: Observation<"Unfinished">, { job }: JobContext): Step {
  const late = pollAfter === undefined ? {} : { pollAfter, againMs: LATE_POLL_MS };
  return isOfBatch(job) && showsTask(job) ? late : { outcome: { phase: "Active", result }, ...late };
}

/** Whether the status shows a task whose polls work. */
function showsTask({ status }: Job): boolean {
  const { reason } = getCondition(status?.conditions, "Ready") ?? {};
  return status?.pollsFailingSince === undefined && (reason === "Queued" || reason === "Running");
}

export function showBlockedTask({ kind: _, againMs, ...note }: Observation<"Blocked">): Step {
  return { outcome: { phase: "Active", result: undefined, note }, ...(againMs === undefined ? {} : { againMs }) };
}

export function retryTask({ message }: Observation<"TaskFailedRetry">, { job, now }: JobContext): Step {
  const failedTasks = (job.status?.failedTasks ?? 0) + 1;
  const delayMs = backoffDelay(failedTasks, TASK_BACKOFF);
  const at = ceilSecond(now + delayMs);
  return {
    outcome: {
      phase: "Pending",
      reason: "RemoteTaskFailed",
      message: `${message}: attempt ${(job.status?.submission?.attempt ?? 0) + 1} follows at ${rfc3339(at)}, failed tasks ${failedTasks} of ${job.spec.backoffLimit} that backoffLimit allows`,
      stalled: false,
    },
    written: { failedTasks, nextAttemptTime: rfc3339(at) },
    againMs: at - now,
  };
}

export function showFailingPolls(
  { kind, reason, message, since }: Observation<"PollsFailing" | "PollsLost">,
  { now }: JobContext,
): Step {
  const stalled = kind === "PollsLost";
  return {
    outcome: { phase: "Active", result: undefined, note: { reason, message, stalled } },
    written: { pollsFailingSince: rfc3339(since) },
    ...(stalled ? {} : { againMs: Math.max(0, since + RELEASE_SLOT_AFTER_MS - now) }),
  };
}

// Results

export function complete(
  { results, ...observation }: Observation<"Results"> | Observation<"Stored">,
  { job, now }: JobContext,
): Step {
  const { result } = observation;
  const submitted = observation.kind === "Results" ? observation.submitted : undefined;
  return {
    outcome: { phase: "Succeeded", result, results },
    ...(submitted === undefined ? {} : { written: submission(job, submitted, "Accepted", now) }),
  };
}

export function storeResults(
  { results, result, submitted }: Observation<"ResultsToStore">,
  { job, now }: JobContext,
): Step {
  return {
    outcome: {
      phase: "Storing",
      result,
      results,
      reason: "Storing",
      message: `The results are being copied${result?.omitted === undefined ? "" : `, without ${result.omitted} that cannot be stored in the status`}`,
      stalled: false,
    },
    ...(submitted === undefined ? {} : { written: submission(job, submitted, "Accepted", now) }),
    againMs: 0,
  };
}

export function fail(
  observation: Observation<"PastDeadline" | "InvalidSpec" | "Refused" | "TaskFailed" | "NoResults" | "ResultsLost">,
  context: JobContext,
): Step {
  const { reason, message, result } = observation;
  return { outcome: { phase: "Failed", reason, message, result }, written: writtenOnFailure(observation, context) };
}

function writtenOnFailure(observation: Parameters<typeof fail>[0], { job, now }: JobContext): Partial<JobStatus> {
  switch (observation.kind) {
    case "TaskFailed":
      return { failedTasks: (job.status?.failedTasks ?? 0) + 1 };
    case "NoResults":
      return submission(job, observation.submitted, "Accepted", now);
    case "Refused":
      return { submission: submissionOf(observation.record, "Refused", now) };
    default:
      return {};
  }
}

/** Status fields of a request that the service accepted or may have accepted. */
export function submission(
  job: Job,
  { record, firstAudioMs }: Submitted,
  state: "Accepted" | "Unknown",
  now: number,
): Partial<JobStatus> {
  return {
    submission: submissionOf(record, state, now),
    attempts: record.attempt,
    ...(record.account === undefined ? {} : { account: record.account }),
    ...(firstAudioMs === undefined ? {} : { firstAudioMs }),
    ...(state === "Accepted"
      ? { submitTime: record.time, firstSubmitTime: job.status?.firstSubmitTime ?? record.time }
      : {}),
  };
}

/** Times in a status are whole seconds. Rounds up, so that the time shown is never too early. */
function ceilSecond(ms: number): number {
  return Math.ceil(ms / 1000) * 1000;
}
