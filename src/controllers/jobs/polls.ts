import { COMMANDS, targetOf } from "../../api/v1alpha1/commands.ts";
import { cut } from "../../api/v1alpha1/conditions.ts";
import type { Reason } from "../../api/v1alpha1/reasons.ts";
import type { AddressGuard } from "../../base/address-guard.ts";
import { rfc3339 } from "../../base/clock.ts";
import { createSanitizer } from "../../base/sanitizer.ts";
import { type TaskResult, type Useless, uselessness } from "../../provider/tasks/task-result.ts";
import type { PollFailure, TaskObservation } from "../../provider/types.ts";
import { StalledError } from "../references.ts";
import { copiedFirst, observeFirstCopy } from "./first-copy.ts";
import {
  deadlineOf,
  type JobContext,
  type Observation,
  type ObservationIn,
  type ObserveContext,
  type Observed,
  observeDelivery,
  pastDeadline,
} from "./observations.ts";
import { readerOf } from "./prepare.ts";
import { accountOfTask, heldAccount, judged, mismatchOf, resultsFrom } from "./tasks.ts";
import type { Block, Job, JobStatus } from "./types.ts";
/** Observes the task that the job follows. Undefined: not known yet. */
export async function observeTracking<T extends Job>(
  context: ObserveContext<T>,
  taskID: string,
): Promise<Observed | undefined> {
  const { deps, job, signal } = context;
  const copy = deps.copies.find(job.metadata.uid);
  if (copy !== undefined) return { observation: observeFirstCopy(copy) };
  const resolved = await accountOfTask(deps.shared, job);
  if (resolved.kind === "Checking") return undefined;
  if (resolved.kind === "Held") return { observation: observeTask(context, taskID, undefined, heldAccount(resolved)) };
  const { account } = resolved;
  const mismatch = mismatchOf(job, account);
  if (mismatch !== undefined) return { observation: observeTask(context, taskID, undefined, mismatch) };
  const secrets = () => deps.adapter.secrets(job, readerOf(deps, signal));
  const failing = account.tasks.failing(taskID);
  const latest = await withoutSecrets(account.tasks.latest(taskID), secrets);
  const observation = withGuard(observeTask(context, taskID, latest, undefined), account.resultLookup);
  if (observation.kind === "ResultsToStore") return copiedFirst(context, observation, account);
  if (observation.kind !== "Unfinished") return { observation, account };
  if (failing !== undefined) return { observation: observeFailingPolls(context, taskID, failing), account };
  // After a restart, the status shows the failing polls until a poll shows something else or they are known to fail again.
  const isFailing = job.status?.pollsFailingSince !== undefined;
  return isFailing && isSame(latest, job.status) ? undefined : { observation, account };
}

function isSame(latest: TaskObservation | undefined, status: JobStatus | undefined): boolean {
  if (latest === undefined) return true;
  return uselessness(latest.result) !== undefined && latest.result.task.status === status?.remoteStatus;
}

function withGuard(observation: ObservationIn<"Tracking">, guard: AddressGuard): ObservationIn<"Tracking"> {
  if (observation.kind !== "Results" && observation.kind !== "ResultsToStore") return observation;
  return { ...observation, results: observation.results.map((result) => judged(result, guard)) };
}

/** What the last poll of a task shows, then the deadline. A job whose task cannot be polled does not fail for its deadline. */
export function observeTask(
  context: JobContext,
  taskID: string,
  polled: TaskObservation | undefined,
  block: Block | undefined,
): ObservationIn<"Tracking"> {
  const { job } = context;
  const result = polled?.result;
  const results =
    polled === undefined || result?.task.state !== "Succeeded" ? [] : resultsFrom(polled.result, polled.at);
  if (results.length > 0) return observeDelivery(results, job.spec, { result });
  if (result?.task.state === "Failed") return observeFailure(job, taskID, result);
  if (block !== undefined) return { kind: "Blocked", ...block };
  if (result?.task.state === "Succeeded") return { kind: "Unfinished", result };
  const late = pastDeadline(context);
  if (late === undefined) return { kind: "Unfinished", result };
  const deadline = deadlineOf(job);
  // The task may have succeeded while the operator was down: only a poll after the deadline shows that it did not.
  if (polled === undefined || deadline === undefined || polled.at < deadline) {
    return { kind: "Unfinished", result, pollAfter: deadline };
  }
  return { ...late, result };
}

function observeFailure({ kind, spec, status }: Job, taskID: string, result: TaskResult): ObservationIn<"Tracking"> {
  const failures = (status?.failedTasks ?? 0) + 1;
  const cause = result.task.reason === "" ? "the service gives no reason" : result.task.reason;
  const message = `Task ${taskID} failed: ${cause}`;
  if (failures <= spec.backoffLimit) return { kind: "TaskFailedRetry", message };
  const advice = `create a new ${kind} to try again`;
  return spec.backoffLimit > 0
    ? {
        kind: "TaskFailed",
        reason: "BackoffLimitExceeded",
        message: `${failures} tasks failed, backoffLimit is ${spec.backoffLimit}. ${message}: ${advice}`,
        result,
      }
    : { kind: "TaskFailed", reason: "RemoteTaskFailed", message: `${message}: ${advice}`, result };
}

/** A job whose polls fail for this long gives its slot back (docs/reference/api.md: Jobs). */
export const RELEASE_SLOT_AFTER_MS = 10 * 60_000;

/** Characters of an error, so that the message has a complete command. */
const LONGEST_CAUSE = 200;

/** The polls of the job's task fail. Polls that failed before a restart count, while the status shows them. */
function observeFailingPolls(
  { job, now }: JobContext,
  taskID: string,
  failure: PollFailure,
): Observation<"PollsFailing" | "PollsLost"> {
  const shown = job.status?.pollsFailingSince;
  const since = shown === undefined ? failure.since : Math.min(failure.since, Date.parse(shown));
  const { reason, fact, advice } = wordsOf(failure, taskID, rfc3339(since));
  const rest = "Mooring continues to poll and sends nothing again";
  const releaseAt = since + RELEASE_SLOT_AFTER_MS;
  if (now < releaseAt) {
    const message = `${fact}. ${rest}. At ${rfc3339(releaseAt)} the job stops counting toward maxConcurrentTasks`;
    return { kind: "PollsFailing", reason, message, since };
  }
  const giveUp = COMMANDS.remove(targetOf(job));
  const message = `${fact}. ${rest}; the job no longer counts toward maxConcurrentTasks. ${advice}. Give up: ${giveUp}`;
  return { kind: "PollsLost", reason, message, since };
}

type FailureWords = { reason: Reason; fact: string; advice: string };

function wordsOf(failure: PollFailure, taskID: string, since: string): FailureWords {
  if ("useless" in failure) return uselessWords(failure.useless, taskID, since);
  const { kind, message } = failure.error;
  const cause = cut(message, LONGEST_CAUSE);
  return kind === "NotFound"
    ? {
        reason: "TaskNotFound",
        fact: `The service has not known task ${taskID} since ${since} (${cause})`,
        advice: "Look for the task in the service's records: it may be charged",
      }
    : {
        reason: "PollsFailing",
        fact: `Every poll of task ${taskID} has failed since ${since} (${cause})`,
        advice: "Check whether the service and the account's key can read the task: it may have succeeded",
      };
}

function uselessWords(useless: Useless, taskID: string, since: string): FailureWords {
  if (useless.kind === "UnknownStatus") {
    const fact = `Task ${taskID} has shown status "${cut(useless.status, LONGEST_CAUSE)}", which Mooring does not know, without a change since ${since}`;
    return { reason: "RemoteStatusUnknown", fact, advice: "Ask the service's support how the task ended" };
  }
  const { omitted } = useless;
  const none = omitted === 0 ? "without any result" : `with ${omitted} results that cannot be stored in the status`;
  return {
    reason: "NoResult",
    fact: `Task ${taskID} has succeeded ${none} since ${since}, and may have been charged`,
    advice: "Ask the service's support for the result",
  };
}

/** Longest texts of a task in the status, in characters (job.ts). */
const LIMITS = { reason: 8192, word: 256 };
/** Words that the service uses for a status or a type. They quote nothing. */
const CONSTANT = /^[A-Z][A-Z0-9_]*$|^$/;

/**
 * The result of a poll, without values of Secrets that the service quotes. `secrets` is read only for a text that can quote one.
 * When the values cannot be read any more, the text is left out.
 */
export async function withoutSecrets(
  polled: TaskObservation | undefined,
  secrets: () => Promise<readonly string[]>,
): Promise<TaskObservation | undefined> {
  if (polled === undefined || quotesNothing(polled.result)) return polled;
  try {
    const hidden = await secrets();
    return hidden.length === 0 ? polled : withTexts(polled, createSanitizer({ hidden }));
  } catch (error) {
    if (!(error instanceof StalledError)) throw error;
    return withTexts(polled, (text) => (CONSTANT.test(text) ? text : "(hidden)"));
  }
}

function quotesNothing({ task }: TaskResult): boolean {
  return task.reason === "" && CONSTANT.test(task.status) && CONSTANT.test(task.taskType);
}

function withTexts({ result, at }: TaskObservation, shown: (text: string, limit: number) => string): TaskObservation {
  const { task } = result;
  const texts = {
    reason: shown(task.reason, LIMITS.reason),
    status: shown(task.status, LIMITS.word),
    taskType: shown(task.taskType, LIMITS.word),
  };
  return { at, result: { ...result, task: { ...task, ...texts } } };
}
