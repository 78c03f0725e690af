import type { GpuEndpoint } from "../../api/v1alpha1/gpu-endpoint.ts";
import type { AccountRef } from "../../api/v1alpha1/meta.ts";
import type { ReconcileContext, Result } from "../../runtime/controller.ts";
import type { JournalEntry } from "../../submission/journal.ts";
import type { Sanitizer } from "../../text/sanitizer.ts";
import type { AccountHandle } from "../account/registry.ts";
import type { ControllerDeps, Kind } from "../controller-deps.ts";
import type { Claims } from "./claims.ts";
import type { DriftFightTracker } from "./drift-fight.ts";
import type { LostCreates } from "./lost-creates.ts";
import type { Binding, Plan } from "./plan.ts";
import type { Refusals } from "./requests.ts";
import type { Outcome, Written } from "./status.ts";

/** What one step toward the spec works with. */
export type ConvergeInput = {
  shared: ControllerDeps;
  kind: Kind<GpuEndpoint>;
  endpoint: GpuEndpoint;
  account: AccountHandle;
  ref: AccountRef;
  entry: JournalEntry | undefined;
  /** How long this process has known that the entry's outcome is unknown. */
  unknownForMs: number;
  fights: DriftFightTracker;
  refusals: Refusals;
  claims: Pick<Claims, "claimFound">;
  lostCreates: Pick<LostCreates, "ruleOut">;
  /** A user requests a reconcile: read the remote and try again now. */
  requested: boolean;
  context: ReconcileContext;
};

/** How one step toward the spec ended. `written`: what the status keeps of it. `sanitize`: for the service's texts. */
export type Converged = { outcome: Outcome; written: Partial<Written>; sanitize?: Sanitizer };

/** The remote as observed, and what to do. `desiredHash` tells one desired endpoint from another. */
export type Decision = { binding: Binding; plan: Plan; applied: boolean; desiredHash: string };

/** The earlier of two requeues. */
export function earlierOf(one: Result, other: Result): Result {
  const times = [one, other].flatMap((result) => result?.requeueAfterMs ?? []);
  return times.length === 0 ? (one ?? other) : { requeueAfterMs: Math.min(...times) };
}
