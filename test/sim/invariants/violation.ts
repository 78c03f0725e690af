/** The names of what must always hold. docs/explanation/correctness.md explains each. */
export type Invariant =
  | "PaidOnce"
  | "OneEndpoint"
  | "RecordedBeforeSend"
  | "NoFalseUnknown"
  | "OutcomeKept"
  | "OwnInput"
  | "StaysBound"
  | "RestoreConfirmed"
  | "Recorded"
  | "TerminalPhase"
  | "TrueStatus"
  | "Consistent"
  | "OneServer"
  | "TermFresh"
  | "Served"
  | "FewMoves"
  | "RateLimit"
  | "Budget"
  | "Concurrency"
  | "NoSecret"
  | "Bounded"
  | "Paced"
  | "BackedOff"
  | "CopiedWhole"
  | "Stable"
  | "Quiet"
  | "NoCrash"
  /** Of the simulation itself: a seed run twice has the same trace. */
  | "Replays";

export type Violation = { invariant: Invariant; message: string; atMs: number };

/** Collects what is violated; the first ends the run. */
export type Judge = {
  violated(invariant: Invariant, message: string): void;
  first(): Violation | undefined;
};

export function createJudge(now: () => number): Judge {
  let first: Violation | undefined;
  return {
    violated(invariant, message) {
      first ??= { invariant, message, atMs: now() };
    },
    first: () => first,
  };
}
