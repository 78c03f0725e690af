import type { World, WorldOptions } from "../support/world.ts";

/** What users do, and what they wait for. The operator may die at any time meanwhile. */
export type Scenario = {
  name: string;
  simulator?: WorldOptions["simulator"];
  /** Merged into `spec` of the account. */
  account?: Record<string, unknown>;
  /** Writes count from the start of the operator on. Default: from the end of `prepare` on. */
  fromStart?: true;
  /** Lines of the outcome that depend on when the operator is perturbed. */
  ignores?: RegExp;
  /** Runs before the operator is perturbed. */
  prepare?(world: World): Promise<unknown>;
  /** The perturbed part. It ends when the users see what they want. */
  act(world: World): Promise<unknown>;
};
