import type { Stage, StageOptions } from "../stage/stage.ts";

/** What users do, and what they wait for. The operator may die at any time meanwhile. */
export type Scenario = {
  name: string;
  simulator?: StageOptions["simulator"];
  /** Merged into `spec` of the account. */
  account?: Record<string, unknown>;
  /** Writes count from the start of the operator on. Default: from the end of `prepare` on. */
  fromStart?: true;
  /** Lines of the outcome that depend on when the operator is perturbed. */
  ignores?: RegExp;
  /** Runs before the operator is perturbed. */
  prepare?(stage: Stage): Promise<unknown>;
  /** The perturbed part. It ends when the users see what they want. */
  act(stage: Stage): Promise<unknown>;
};
