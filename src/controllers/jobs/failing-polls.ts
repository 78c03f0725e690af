import { cut, getCondition } from "../../api/v1alpha1/conditions.ts";
import type { Reason } from "../../api/v1alpha1/reasons.ts";
import { rfc3339 } from "../../clock.ts";
import type { PollFailure } from "../../provider/types.ts";
import type { Facts, Observation } from "./observations.ts";
import type { JobContext, Step } from "./steps.ts";
import type { JobStatus } from "./types.ts";

/** A job whose polls fail for this long gives its slot back (docs/api.md: Jobs). */
export const RELEASE_SLOT_AFTER_MS = 10 * 60_000;

/** Characters of an error, so that the message has a complete command. */
const LONGEST_CAUSE = 200;

/** The reasons of a job whose polls fail. */
const FAILING: readonly (Reason | string)[] = ["TaskNotFound", "PollsFailing"] satisfies Reason[];

/** The polls of the job's task fail. Polls that failed before a restart count, while the status shows them. */
export function observeFailingPolls(
  { job, status, now }: Facts,
  taskID: string,
  { since: failingSince, error }: PollFailure,
): Observation<"PollsFailing" | "PollsLost"> {
  const shown = status?.pollsFailingSince;
  const since = shown === undefined ? failingSince : Math.min(failingSince, Date.parse(shown));
  const notFound = error.kind === "NotFound";
  const cause = cut(error.message, LONGEST_CAUSE);
  const reason = notFound ? "TaskNotFound" : "PollsFailing";
  const fact = notFound
    ? `The service has not known task ${taskID} since ${rfc3339(since)} (${cause})`
    : `Every poll of task ${taskID} has failed since ${rfc3339(since)} (${cause})`;
  const rest = "Mooring continues to poll and sends nothing again";
  const releaseAt = since + RELEASE_SLOT_AFTER_MS;
  if (now < releaseAt) {
    const message = `${fact}. ${rest}. At ${rfc3339(releaseAt)} the job stops counting toward maxConcurrentTasks`;
    return { kind: "PollsFailing", reason, message, since };
  }
  const { kind = "job", metadata } = job;
  const giveUp = `kubectl delete ${kind.toLowerCase()} -n ${metadata.namespace} ${metadata.name}`;
  const advice = notFound
    ? "Look for the task in the service's records: it may be charged"
    : "Check whether the service and the account's key can read the task: it may have succeeded";
  const message = `${fact}. ${rest}; the job no longer counts toward maxConcurrentTasks. ${advice}. Give up: ${giveUp}`;
  return { kind: "PollsLost", reason, message, since };
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

/** Whether a user learns from the status that polls fail, and in which stage. */
export function failingStage(status: JobStatus | undefined): string | undefined {
  const ready = getCondition(status?.conditions, "Ready");
  if (ready === undefined || !FAILING.includes(ready.reason ?? "")) return undefined;
  return `${ready.reason} ${getCondition(status?.conditions, "Stalled") === undefined ? "" : "Stalled"}`;
}

/** Whether the job has given its slot back because its polls fail. */
export function hasReleasedSlot(status: JobStatus | undefined): boolean {
  const stalled = getCondition(status?.conditions, "Stalled");
  return status?.pollsFailingSince !== undefined && FAILING.includes(stalled?.reason ?? "");
}
