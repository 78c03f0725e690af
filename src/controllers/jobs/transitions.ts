import { awaitCopy, beginCopy, showBlockedCopy, showCopy, showFailedCopy } from "./copy.ts";
import { attach, halt, release, showHalted, showNotAttached } from "./halt.ts";
import type { JobContext, JobState, Observation, ObservationKind, ObservationsIn, StateKind } from "./observations.ts";
import * as steps from "./steps.ts";
import type { JobStatus } from "./types.ts";

/** What a transition changes besides the step's own result. Each field is optional data of a row. */
type Effects = {
  /** The job asks for a slot, or uses the one that it has. In all other rows it withdraws an unused one. */
  asksForSlot?: boolean;
  /**
   * The job has no request or task in flight any more. `Charged`: it can have cost something. `Unseen`: its task may still
   * run, and nobody knows the task.
   */
  releasesSlot?: "Charged" | "Unseen" | "Uncharged";
  /** The observation precedes the response: a response that arrived meanwhile is not forgotten. */
  awaitsResponse?: boolean;
  /** The next backoff starts from the beginning. */
  resetsBackoff?: boolean;
  /** The copy has ended. `Failed`: the next one starts after a backoff. */
  endsCopy?: "Done" | "Failed";
  /** Status fields that are removed. */
  cleared?: readonly (keyof JobStatus)[];
};

type Row<O extends ObservationKind> = Effects & {
  step(observation: Observation<O>, context: JobContext): steps.Step;
  next: StateKind;
};

/** A step with everything that its row adds. */
export type Transition = steps.Step & Effects & { next: StateKind };

/** Status fields that describe a single task. */
const TASK_FIELDS = [
  "taskID",
  "taskType",
  "remoteStatus",
  "progressPercent",
  "etaSeconds",
  "reason",
  "pollsFailingSince",
] as const;
const PAUSE = ["nextAttemptTime"] as const;
const WAITS = ["nextAttemptTime", "pollsFailingSince"] as const;

const suspended = { step: steps.showSuspended, releasesSlot: "Uncharged" } as const;
const succeeds = { step: steps.complete, next: "Succeeded", cleared: WAITS } as const;
const fails = { step: steps.fail, next: "Failed", cleared: WAITS } as const;
const delivered = { releasesSlot: "Charged", resetsBackoff: true } as const;

/**
 * The life of a job of either kind: in a state, an observation leads to a step and to the next state. `steps.ts` and `halt.ts`
 * define the steps, `observations.ts` the observations. The table guarantees:
 * - Only `Waiting` with `Clear` sends a paid request. Each request has an attempt number of its own.
 * - `Sending` returns to `Waiting` only when the request surely had no effect, or for `UnknownButResubmit`, which `spec` asks for.
 * - `Halted` with `Attachable` follows a task without any request.
 * - A task that cannot be polled, or shows nothing to go on with, never ends a job and never leads to another request.
 * - A task that succeeded never leads to another request: a job with a failed copy stays in `Storing`.
 * - `Succeeded` and `Failed` have no rows: a job never leaves them.
 */
export const JOB_TABLE: { readonly [S in StateKind]: { readonly [O in ObservationsIn[S]]: Row<O> } } = {
  Waiting: {
    Suspended: { ...suspended, next: "Waiting" },
    PastDeadline: { ...fails, releasesSlot: "Charged" },
    Blocked: { step: steps.showBlock, next: "Waiting" },
    MissingReference: { step: steps.showMissingReference, next: "Waiting" },
    NotAdmitted: { step: steps.showAdmission, next: "Waiting", asksForSlot: true },
    TooSoon: { step: steps.showPause, next: "Waiting" },
    BackingOff: { step: steps.unchanged, next: "Waiting" },
    InvalidSpec: { ...fails, releasesSlot: "Uncharged" },
    Reused: { step: steps.reuse, next: "Succeeded", releasesSlot: "Uncharged", cleared: WAITS },
    Clear: { step: steps.send, next: "Sending", asksForSlot: true, awaitsResponse: true },
  },
  Sending: {
    UnderWay: { step: steps.showSending, next: "Sending", awaitsResponse: true },
    UnderWayElsewhere: { step: steps.awaitSender, next: "Sending", awaitsResponse: true },
    Accepted: {
      step: steps.track,
      next: "Tracking",
      resetsBackoff: true,
      cleared: [...TASK_FIELDS, ...PAUSE],
    },
    Results: { ...succeeds, ...delivered },
    ResultsToStore: { step: steps.storeResults, next: "Storing", ...delivered, cleared: WAITS },
    NoResults: { ...fails, releasesSlot: "Charged" },
    NotTaken: { step: steps.showNotTaken, next: "Waiting", releasesSlot: "Uncharged" },
    Withdrawn: { step: steps.withdraw, next: "Waiting", releasesSlot: "Uncharged" },
    Refused: { ...fails, releasesSlot: "Uncharged" },
    Unknown: { step: halt, next: "Halted", releasesSlot: "Unseen", cleared: TASK_FIELDS },
    Unusable: { step: halt, next: "Halted", releasesSlot: "Unseen", cleared: TASK_FIELDS },
    UnknownButResubmit: {
      step: steps.sendAgain,
      next: "Waiting",
      releasesSlot: "Unseen",
      cleared: TASK_FIELDS,
    },
  },
  Halted: {
    Unreleased: { step: showHalted, next: "Halted" },
    Released: { step: release, next: "Waiting" },
    Attachable: { step: attach, next: "Tracking", cleared: TASK_FIELDS },
    NotAttached: { step: showNotAttached, next: "Halted" },
  },
  Tracking: {
    Blocked: { step: steps.showBlockedTask, next: "Tracking" },
    Unfinished: { step: steps.showProgress, next: "Tracking", cleared: ["pollsFailingSince"] },
    PollsFailing: { step: steps.showFailingPolls, next: "Tracking" },
    PollsLost: { step: steps.showFailingPolls, next: "Tracking", releasesSlot: "Unseen" },
    Results: { ...succeeds, ...delivered },
    ResultsToStore: { step: steps.storeResults, next: "Storing", ...delivered, cleared: WAITS },
    TaskFailed: { ...fails, releasesSlot: "Charged" },
    TaskFailedRetry: { step: steps.retryTask, next: "Waiting", releasesSlot: "Charged", cleared: TASK_FIELDS },
    PastDeadline: fails, // the task runs on: finish.ts
    NotCopying: { step: beginCopy, next: "Tracking" },
    Copying: { step: awaitCopy, next: "Tracking" },
    Stored: { ...succeeds, ...delivered, endsCopy: "Done" },
  },
  Storing: {
    Blocked: { step: showBlockedCopy, next: "Storing" },
    BackingOff: { step: steps.unchanged, next: "Storing" },
    NotCopying: { step: beginCopy, next: "Storing" },
    Copying: { step: showCopy, next: "Storing" },
    Stored: { ...succeeds, endsCopy: "Done" },
    CopyFailed: { step: showFailedCopy, next: "Storing", endsCopy: "Failed" },
    ResultsLost: { ...fails, endsCopy: "Done" },
  },
  Succeeded: {},
  Failed: {},
};

/** The transition for an observation. @throws Error for a pair without a row, which is a bug of Mooring */
export function decide(state: JobState, observation: Observation, context: JobContext): Transition {
  const rows: { readonly [O in ObservationKind]?: Row<O> } = JOB_TABLE[state.kind];
  const transition = transitionOf(rows, observation, context);
  if (transition === undefined) throw new Error(`the job table has no row for ${state.kind} and ${observation.kind}`);
  return transition;
}

function transitionOf<O extends ObservationKind>(
  rows: { readonly [P in ObservationKind]?: Row<P> },
  observation: Observation<O>,
  context: JobContext,
): Transition | undefined {
  const row: Row<O> | undefined = rows[observation.kind];
  if (row === undefined) return undefined;
  const { step, ...effects } = row;
  return { ...effects, ...step(observation, context) };
}
