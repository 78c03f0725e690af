import { getCondition } from "../api/v1alpha1/conditions.ts";
import type { JobPhase, PhaseStart } from "../api/v1alpha1/job.ts";
import type { Condition, KubeObject } from "../kube/types.ts";
import { type Attributes, attributesOf, type Span } from "./span.ts";
import { rootSpan, spanIdOf } from "./trace-context.ts";

export type TracedJob = KubeObject<
  unknown,
  | {
      phase?: JobPhase | undefined;
      timeline?: PhaseStart[] | undefined;
      completionTime?: string | undefined;
      attempts?: number | undefined;
      conditions: Condition[];
    }
  | undefined
>;

/** The names of spans. The ends of a job have none. */
const NAMES: Readonly<Record<Exclude<JobPhase, "Succeeded" | "Failed">, string>> = {
  Pending: "pending",
  Submitting: "submit",
  Queued: "remote queue",
  Running: "remote run",
  Halted: "halted",
  Storing: "store",
};
const IN_ATTEMPT: readonly JobPhase[] = ["Submitting", "Queued", "Running", "Halted"];

/** A part of the timeline, ms since the epoch. */
type Interval = {
  phase: keyof typeof NAMES;
  attempt: number;
  taskID?: string | undefined;
  reason?: string | undefined;
  startMs: number;
  endMs: number;
};

export type JobTrace = {
  /** The kind of the object: objects of a list do not have it. */
  kind: string;
  /** Of the root span. */
  attributes: Attributes;
  /** When the object was deleted, ms since the epoch: the trace of an unfinished job ends then. */
  deletedAtMs?: number;
};

export function hasEnded({ status }: TracedJob): boolean {
  return status?.phase === "Succeeded" || status?.phase === "Failed";
}

/** When a finished job ended, ms since the epoch. The timeline has milliseconds; a status without one has `completionTime`. */
export function endOf({ status }: TracedJob): number | undefined {
  const time = status?.timeline?.at(-1)?.time ?? status?.completionTime;
  return time === undefined ? undefined : Date.parse(time);
}

/**
 * The trace of a job, from its object alone: the root span first. Pure. The children cover the whole life without a gap. Empty: the
 * job has not ended.
 */
export function jobSpans(job: TracedJob, { kind, attributes, deletedAtMs }: JobTrace): Span[] {
  const endMs = hasEnded(job) ? endOf(job) : deletedAtMs;
  if (endMs === undefined) return [];
  const { status } = job;
  const intervals = intervalsOf(job, endMs);
  const startMs = intervals[0]?.startMs ?? Math.min(createdAt(job), endMs);
  const outcome = hasEnded(job) ? status?.phase : "Deleted";
  const reason = getCondition(status?.conditions, "Failed")?.reason;
  const own = { "mooring.outcome": outcome, "mooring.reason": reason, "mooring.attempts": status?.attempts };
  const root: Span = {
    ...rootSpan(job, kind, { startMs, endMs }, { ...attributes, ...own }),
    failure: outcome === "Failed" ? (reason ?? "Failed") : undefined,
  };
  const attempts = attemptsOf(job, root, intervals);
  const spans = [...attempts.values()].map(({ span }) => span);
  return [root, ...spans, ...phaseSpans(job, root, { intervals, attempts })];
}

/** The timeline from the creation of the object to `endMs`, without gaps. */
function intervalsOf(job: TracedJob, endMs: number): Interval[] {
  const timeline = job.status?.timeline ?? [];
  const startOf = (index: number): number => Math.min(endMs, Date.parse(timeline[index]?.time ?? "") || endMs);
  const intervals = timeline.flatMap(({ phase, ...entry }, index): Interval[] =>
    phase === "Succeeded" || phase === "Failed"
      ? []
      : [{ ...entry, phase, startMs: startOf(index), endMs: startOf(index + 1) }],
  );
  const [first, ...others] = intervals;
  if (first === undefined) return [];
  const startMs = Math.min(createdAt(job), first.startMs);
  if (first.phase === "Pending") return [{ ...first, startMs }, ...others];
  return [{ phase: "Pending", attempt: 1, startMs, endMs: first.startMs }, first, ...others];
}

/** By the clock of the API server, in whole seconds. */
function createdAt({ metadata }: TracedJob): number {
  return Date.parse(metadata.creationTimestamp ?? "");
}

/** The span of an attempt, and which intervals it covers: those with an index from `from` to `to`. */
type Attempt = { span: Span; from: number; to: number };

/** One span per attempt, from its intent to its outcome, by the number of the attempt. */
function attemptsOf(job: TracedJob, root: Span, intervals: readonly Interval[]): Map<number, Attempt> {
  const attempts = new Map<number, Attempt>();
  for (const attempt of new Set(intervals.map((one) => one.attempt))) {
    const isOwn = (one: Interval) => one.attempt === attempt && IN_ATTEMPT.includes(one.phase);
    const [from, to] = [intervals.findIndex(isOwn), intervals.findLastIndex(isOwn)];
    const [first, last] = [intervals[from], intervals[to]];
    if (first === undefined || last === undefined) continue;
    const outcome = attemptOutcome(last, intervals[to + 1], root);
    const taskID = intervals.find((one) => one.attempt === attempt && one.taskID !== undefined)?.taskID;
    const span: Span = {
      ...childOf(root, spanIdOf(job, `attempt/${attempt}`)),
      name: "attempt",
      startMs: first.startMs,
      endMs: last.endMs,
      attributes: attributesOf({ "mooring.attempt": attempt, "mooring.outcome": outcome, "mooring.task.id": taskID }),
      failure: outcome === "Succeeded" || outcome === "Deleted" ? undefined : outcome,
    };
    attempts.set(attempt, { span, from, to });
  }
  return attempts;
}

/** The outcome of an attempt. `next`: what follows its last interval. */
function attemptOutcome(last: Interval, next: Interval | undefined, root: Span): string {
  if (next === undefined) return String(root.attributes["mooring.outcome"]);
  if (next.phase === "Storing") return "Succeeded";
  if (last.phase === "Submitting" && next.attempt === last.attempt) return "NotSent";
  return last.phase === "Submitting" || last.phase === "Halted" ? "Unknown" : "TaskFailed";
}

type PhaseParts = { intervals: readonly Interval[]; attempts: ReadonlyMap<number, Attempt> };

/** A span for each interval. What happens within an attempt is a child of its span. */
function phaseSpans(job: TracedJob, root: Span, { intervals, attempts }: PhaseParts): Span[] {
  const seen = new Map<string, number>();
  return intervals.map(({ phase, attempt, reason, startMs, endMs }, index) => {
    const around = attempts.get(attempt);
    const isWithin = around !== undefined && around.from <= index && index <= around.to;
    const path = `${phase}/${attempt}`;
    const occurrence = (seen.get(path) ?? 0) + 1;
    seen.set(path, occurrence);
    return {
      ...childOf(isWithin ? around.span : root, spanIdOf(job, `${path}/${occurrence}`)),
      name: NAMES[phase],
      startMs,
      endMs,
      attributes: attributesOf({ "mooring.attempt": attempt, "mooring.reason": reason }),
    };
  });
}

function childOf(
  { traceID, spanID: parentSpanID }: Span,
  spanID: string,
): Pick<Span, "traceID" | "spanID" | "parentSpanID"> {
  return { traceID, spanID, parentSpanID };
}
