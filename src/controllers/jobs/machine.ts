import type { ObservationKind, Seen, SeenIn } from "./observations.ts";
import type { JobState, StateKind } from "./states.ts";
import type { JobContext, Step } from "./steps.ts";
import {
  complete,
  copy,
  fail,
  halt,
  keep,
  release,
  send,
  sendAgain,
  showAdmission,
  showBlock,
  showBlockedCopy,
  showBlockedTask,
  showCopy,
  showFailedCopy,
  showPause,
  showProgress,
  showSending,
  showSuspended,
  stay,
  track,
  tryAgain,
  wait,
} from "./steps.ts";

type Row<O extends ObservationKind> = readonly [step: (seen: Seen<O>, context: JobContext) => Step, next: StateKind];

/**
 * The whole of a job's life, for both kinds: in a state, when this is seen, do that, and the job is then there. `steps.ts` has
 * what each step means, `observations.ts` what each observation is. Guarantees that can be read off it:
 * - Only `Waiting` with `Clear` sends a paid request; so each leaves `Waiting`, with an attempt number of its own.
 * - From `Sending` back to `Waiting` leads only what surely had no effect, and `UnknownButResubmit`, which `spec` asks for.
 * - A task that succeeded never leads to another request: a failed copy stays in `Storing`.
 * - `Succeeded` and `Failed` have no rows: they are never left.
 */
export const JOB_TABLE: { readonly [S in StateKind]: { readonly [O in SeenIn[S]]: Row<O> } } = {
  Waiting: {
    Suspended: [showSuspended, "Waiting"],
    PastDeadline: [fail, "Failed"],
    Blocked: [showBlock, "Waiting"],
    NotAdmitted: [showAdmission, "Waiting"],
    TooSoon: [showPause, "Waiting"],
    Resting: [stay, "Waiting"],
    InvalidSpec: [fail, "Failed"],
    Clear: [send, "Sending"],
  },
  Sending: {
    UnderWay: [showSending, "Sending"],
    Accepted: [track, "Tracking"],
    Results: [complete, "Succeeded"],
    ResultsToStore: [keep, "Storing"],
    NoResults: [fail, "Failed"],
    NotTaken: [wait, "Waiting"],
    Withdrawn: [stay, "Waiting"],
    Refused: [fail, "Failed"],
    Unknown: [halt, "Halted"],
    UnknownButResubmit: [sendAgain, "Waiting"],
  },
  Halted: {
    Unreleased: [stay, "Halted"],
    Released: [release, "Waiting"],
  },
  Tracking: {
    Blocked: [showBlockedTask, "Tracking"],
    Unfinished: [showProgress, "Tracking"],
    Results: [complete, "Succeeded"],
    ResultsToStore: [keep, "Storing"],
    NoResults: [fail, "Failed"],
    TaskFailed: [fail, "Failed"],
    TaskFailedRetry: [tryAgain, "Waiting"],
    PastDeadline: [fail, "Failed"],
  },
  Storing: {
    Blocked: [showBlockedCopy, "Storing"],
    Resting: [stay, "Storing"],
    NotCopying: [copy, "Storing"],
    Copying: [showCopy, "Storing"],
    Stored: [complete, "Succeeded"],
    CopyFailed: [showFailedCopy, "Storing"],
    ResultsLost: [fail, "Failed"],
  },
  Succeeded: {},
  Failed: {},
};

/** Looks the pair up. @throws Error for a pair that the table does not have, which is a mistake of ours */
export function decide(state: JobState, seen: Seen, context: JobContext): Step {
  const rows: { readonly [O in ObservationKind]?: Row<O> } = JOB_TABLE[state.kind];
  return stepOf(rows, seen, context) ?? unknownPair(state, seen);
}

function stepOf<O extends ObservationKind>(
  rows: { readonly [P in ObservationKind]?: Row<P> },
  seen: Seen<O>,
  context: JobContext,
): Step | undefined {
  const row: Row<O> | undefined = rows[seen.kind];
  return row?.[0](seen, context);
}

function unknownPair(state: JobState, seen: Seen): never {
  throw new Error(`the job table has no row for ${state.kind} and ${seen.kind}`);
}
