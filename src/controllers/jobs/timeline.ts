import { getCondition } from "../../api/v1alpha1/conditions.ts";
import { type PhaseStart, TIMELINE_LIMIT } from "../../api/v1alpha1/job.ts";
import { rfc3339Milli } from "../../base/clock.ts";
import { nextAttempt } from "../../submission/record.ts";
import type { JobStatus } from "./types.ts";

/**
 * `status.timeline` after a reconcile: an entry is added when the phase or the attempt changes. Pure. The times never go back, also
 * when the clock of another leader is behind.
 * @param previous the status before @param status as it is about to be written, with its conditions
 * @param suspended the job waits because of `spec.suspend`, whatever its last request shows @param now ms since the epoch
 */
export function timelineOf(
  previous: JobStatus | undefined,
  status: JobStatus,
  suspended: boolean,
  now: number,
): PhaseStart[] {
  const timeline = previous?.timeline ?? [];
  const { submission, taskID, conditions, phase: shown = "Pending" } = status;
  const intended = shown === "Pending" && submission?.state === "Intended" && !suspended;
  const phase = intended ? "Submitting" : shown;
  const attempt = phase === "Pending" ? nextAttempt(submission) : (submission?.attempt ?? 1);
  const last = timeline.at(-1);
  if (last?.phase === phase && last.attempt === attempt) return timeline;

  const known = timeline.some((entry) => entry.taskID === taskID);
  const reason = getCondition(conditions, "Ready")?.reason;
  const entry: PhaseStart = {
    phase,
    attempt,
    ...(reason === undefined ? {} : { reason }),
    ...(taskID === undefined || known ? {} : { taskID }),
    time: rfc3339Milli(Math.max(now, last === undefined ? now : Date.parse(last.time))),
  };
  return bounded([...timeline, entry]);
}

/** The first entry shows when the job began. Of the others, the latest matter most. */
function bounded(timeline: PhaseStart[]): PhaseStart[] {
  const [first, ...others] = timeline;
  if (first === undefined || timeline.length <= TIMELINE_LIMIT) return timeline;
  return [first, ...others.slice(timeline.length - TIMELINE_LIMIT)];
}
