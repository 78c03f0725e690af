import { ANNOTATIONS } from "../../api/v1alpha1/meta.ts";
import { rfc3339 } from "../../clock.ts";
import { backoffDelay } from "../../runtime/backoff.ts";
import type { JournalEntry } from "../../submission/journal.ts";
import { type Block, type Seen, SHOW_SENDING_AFTER_MS, type Submitted } from "./observations.ts";
import type { JobOutcome } from "./status.ts";
import type { Job, JobStatus, PaidRequest } from "./types.ts";

/** What a step is computed from. Pure: time comes in as a value. */
export type JobContext = { job: Job; now: number };

/** What a reconcile leads to. Nothing of it is done here. */
export type Step = {
  /** Undefined: the status stays as it is. */
  outcome?: JobOutcome;
  /** Status fields beside those of the outcome. */
  written?: Partial<JobStatus>;
  /** Status fields that go: they were of a task that another attempt replaces. */
  cleared?: readonly (keyof JobStatus)[];
  /** A paid request to be sent. */
  send?: PaidRequest;
  /** The results are to be copied. */
  copy?: boolean;
  /** When to look again, ms from now; undefined: when something changes. */
  againMs?: number;
};

/** As batch/v1 Job: 10 s, doubled with each failed task, at most 6 minutes. */
const TASK_BACKOFF = { baseMs: 10_000, capMs: 6 * 60_000, jitter: 0, random: () => 0 };
/** Between unknown submissions under Resubmit. */
const RESUBMIT_BACKOFF = { baseMs: 1_000, capMs: 5 * 60_000, jitter: 0, random: () => 0 };
/** How often the bytes of a long copy are shown. */
const SHOW_COPY_MS = 15_000;
/** What blocks a copy ends with an event of its own; the end of the URLs does not. */
const BLOCKED_COPY_MS = 5 * 60_000;
/** Re-check interval for queued jobs, in case a wake-up is lost. The admission forgets a job after 150 s. */
const TURN_MS = 60_000;

export function stay(seen: Seen<"Resting" | "Withdrawn" | "Unreleased">, { now }: JobContext): Step {
  return seen.kind === "Unreleased" ? {} : { againMs: Math.max(0, seen.until - now) };
}

// Before a request

export function showSuspended(): Step {
  return { outcome: { phase: "Suspended" } };
}

export function showBlock({ reason, message, stalled, againMs }: Seen<"Blocked">): Step {
  return { outcome: { phase: "Pending", reason, message, stalled }, ...(againMs === undefined ? {} : { againMs }) };
}

export function showAdmission({ reason, message, stalled, brief }: Seen<"NotAdmitted">): Step {
  if (brief) return { againMs: SHOW_SENDING_AFTER_MS };
  return { outcome: { phase: "Pending", reason, message, stalled }, againMs: TURN_MS };
}

export function showPause({ until }: Seen<"TooSoon">, { job, now }: JobContext): Step {
  const attempt = (job.status?.submission?.attempt ?? 0) + 1;
  const message = `Attempt ${attempt} follows at ${rfc3339(until)}`;
  return {
    outcome: { phase: "Pending", reason: "Retrying", message, stalled: false },
    againMs: Math.max(0, until - now),
  };
}

export function send({ request }: Seen<"Clear">): Step {
  return { send: request, againMs: SHOW_SENDING_AFTER_MS };
}

// What became of a request

export function showSending({ sent, since, firstAudioMs }: Seen<"UnderWay">, { now }: JobContext): Step {
  const early = since + SHOW_SENDING_AFTER_MS - now;
  if (early > 0 && firstAudioMs === undefined) return { againMs: early };
  if (!sent) {
    const message = "The request waits for the account's rate limit";
    return { outcome: { phase: "Pending", reason: "RateLimited", message, stalled: false } };
  }
  return {
    outcome: { phase: "Submitting" },
    ...(firstAudioMs === undefined ? {} : { written: { firstAudioMs } }),
  };
}

export function track({ taskID, ...submitted }: Seen<"Accepted">, { job, now }: JobContext): Step {
  return {
    outcome: { phase: "Active", result: undefined },
    written: { ...submission(job, submitted, "Accepted", now), taskID },
    cleared: [...OF_A_TASK, "nextAttemptTime"],
  };
}

export function wait({ reason, message, stalled, until }: Seen<"NotTaken">, { now }: JobContext): Step {
  return { outcome: { phase: "Pending", reason, message, stalled }, againMs: Math.max(0, until - now) };
}

export function halt({ cause, ...submitted }: Seen<"Unknown">, { job, now }: JobContext): Step {
  const message = `The request may have been taken and charged, and nobody can tell (${cause}): look at the service's own records, then release the job with the annotation ${ANNOTATIONS.resubmitToken}=<any new value>, or delete it`;
  return {
    outcome: { phase: "Halted", message },
    written: submission(job, submitted, "Unknown", now),
    cleared: OF_A_TASK,
  };
}

export function sendAgain({ cause, ...submitted }: Seen<"UnknownButResubmit">, { job, now }: JobContext): Step {
  const delayMs = backoffDelay(submitted.entry.attempt, RESUBMIT_BACKOFF);
  const message = `Attempt ${submitted.entry.attempt} may have been taken and charged (${cause}): it is sent again, as onSubmissionUnknown says`;
  return {
    outcome: { phase: "Pending", reason: "SubmissionUnknown", message, stalled: false },
    written: {
      ...submission(job, submitted, "Unknown", now),
      nextAttemptTime: rfc3339(ceilSecond(now + delayMs)),
    },
    cleared: OF_A_TASK,
    againMs: ceilSecond(now + delayMs) - now,
  };
}

export function release({ token }: Seen<"Released">): Step {
  const message = `Released by the annotation ${ANNOTATIONS.resubmitToken}`;
  return {
    outcome: { phase: "Pending", reason: "Submitting", message, stalled: false },
    written: { lastHandledResubmitToken: token },
    againMs: 0,
  };
}

// A task

export function showProgress({ result }: Seen<"Unfinished">): Step {
  return { outcome: { phase: "Active", result } };
}

export function showBlockedTask({ reason, message, stalled }: Seen<"Blocked">): Step {
  return { outcome: { phase: "Active", result: undefined, note: { reason, message, stalled } } };
}

export function tryAgain({ message }: Seen<"TaskFailedRetry">, { job, now }: JobContext): Step {
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
    cleared: OF_A_TASK,
    againMs: at - now,
  };
}

// Results

export function complete({ results, ...seen }: Seen<"Results"> | Seen<"Stored">, { job, now }: JobContext): Step {
  const { result = undefined, submitted = undefined } = seen.kind === "Results" ? seen : {};
  return {
    outcome: { phase: "Succeeded", result, results },
    ...(submitted === undefined ? {} : { written: submission(job, submitted, "Accepted", now) }),
    cleared: ["nextAttemptTime"],
  };
}

export function keep({ results, result, submitted }: Seen<"ResultsToStore">, { job, now }: JobContext): Step {
  return {
    outcome: {
      phase: "Storing",
      result,
      results,
      reason: "Storing",
      message: "The results are being copied",
      stalled: false,
    },
    ...(submitted === undefined ? {} : { written: submission(job, submitted, "Accepted", now) }),
    cleared: ["nextAttemptTime"],
    againMs: 0,
  };
}

export function fail(
  seen: Seen<"PastDeadline" | "InvalidSpec" | "Refused" | "TaskFailed" | "NoResults" | "ResultsLost">,
  { job, now }: JobContext,
): Step {
  const { reason, message, result } = seen;
  const failedTasks = seen.kind === "TaskFailed" ? { failedTasks: (job.status?.failedTasks ?? 0) + 1 } : {};
  const submitted =
    seen.kind === "NoResults" && seen.submitted !== undefined
      ? submission(job, seen.submitted, "Accepted", now)
      : seen.kind === "Refused" && seen.entry !== undefined
        ? { submission: submissionOf(seen.entry, "Refused", now) }
        : {};
  return {
    outcome: { phase: "Failed", reason, message, result },
    written: { ...submitted, ...failedTasks },
    cleared: ["nextAttemptTime"],
  };
}

// A copy

export function copy(): Step {
  return { copy: true };
}

export function showCopy({ note }: Seen<"Copying">, context: JobContext): Step {
  return storing(context, { reason: "Storing", message: note, stalled: false }, SHOW_COPY_MS);
}

/** The copy alone is tried again: another paid request would not bring back this result. */
export function showFailedCopy({ results, reason, message, stalled }: Seen<"CopyFailed">): Step {
  return { outcome: { phase: "Storing", result: undefined, results, reason, message, stalled }, againMs: 0 };
}

export function showBlockedCopy({ reason, message, stalled }: Seen<"Blocked">, context: JobContext): Step {
  return storing(context, { reason, message, stalled }, BLOCKED_COPY_MS);
}

function storing({ job }: JobContext, block: Block, againMs: number): Step {
  const results = job.status?.results ?? [];
  return { outcome: { phase: "Storing", result: undefined, results, ...block }, againMs };
}

/** What a status shows of one task alone. */
const OF_A_TASK = ["taskID", "taskType", "remoteStatus", "progressPercent", "etaSeconds", "reason"] as const;

/** Status fields of a request that the service took, or may have taken. */
function submission(
  job: Job,
  { entry, account, firstAudioMs }: Submitted,
  state: "Accepted" | "Unknown",
  now: number,
): Partial<JobStatus> {
  return {
    submission: submissionOf(entry, state, now),
    attempts: entry.attempt,
    ...(account === undefined ? {} : { account }),
    ...(firstAudioMs === undefined ? {} : { firstAudioMs }),
    ...(state === "Accepted"
      ? { submitTime: entry.time, firstSubmitTime: job.status?.firstSubmitTime ?? entry.time }
      : {}),
  };
}

function submissionOf(
  entry: JournalEntry,
  state: NonNullable<JobStatus["submission"]>["state"],
  now: number,
): NonNullable<JobStatus["submission"]> {
  return { id: entry.id, specHash: entry.specHash, attempt: entry.attempt, state, time: rfc3339(now) };
}

/** Times in a status are whole seconds: the pause must not seem to end before it does. */
function ceilSecond(ms: number): number {
  return Math.ceil(ms / 1000) * 1000;
}
