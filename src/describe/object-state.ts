import { getCondition, isTrue, needsUser } from "../api/v1alpha1/conditions.ts";
import { PENDING_CONDITION } from "../api/v1alpha1/meta.ts";
import { isPaused } from "../controllers/reconciler.ts";
import type { Condition, KubeObject, StoredMeta } from "../kube/types.ts";

/** An object of any of our kinds, with the parts of the status that all of them share and those of jobs and endpoints. */
export type AnyObject = KubeObject<unknown, AnyStatus> & { metadata: StoredMeta };
export type AnyStatus = {
  conditions?: Condition[] | undefined;
  observedGeneration?: number | undefined;
  /** Jobs. */
  phase?: string | undefined;
  /** Jobs and endpoints: the last paid request or create. */
  submission?: { attempt: number; state: string; time: string } | undefined;
  /** Jobs and endpoints: what they are bound to. */
  account?: { kind: string; name: string; baseURL?: string } | undefined;
  /** Endpoints. */
  drift?: { field: string; desired?: string; observed?: string }[] | undefined;
};

export type ObjectState = {
  /** A job's phase, or Deleting, Paused, Stalled, Reconciling, Ready, NotReady. */
  state: string;
  reason: string;
  message: string;
  /** RFC 3339: when the condition that is shown last changed its status. */
  since: string;
  /** Nothing continues before a user acts. A job that failed is over and needs nobody. */
  needsUser: boolean;
};

/** What an object does and what it waits for, in one line. */
export function objectState(object: AnyObject): ObjectState {
  const { metadata, status } = object;
  const conditions = status?.conditions;
  const shown =
    getCondition(conditions, "Stalled") ?? getCondition(conditions, "Reconciling") ?? getCondition(conditions, "Ready");
  const stalled = isTrue(conditions, "Stalled");
  return {
    state: stateOf(object, stalled),
    reason: shown?.reason ?? PENDING_CONDITION.reason,
    message: shown?.message ?? PENDING_CONDITION.message,
    since: shown?.lastTransitionTime ?? metadata.creationTimestamp,
    needsUser: needsUser(status),
  };
}

function stateOf(object: AnyObject, stalled: boolean): string {
  const { metadata, status } = object;
  if (metadata.deletionTimestamp !== undefined) return "Deleting";
  if (isPaused(object)) return "Paused";
  if (status?.phase !== undefined) return status.phase;
  if (stalled) return "Stalled";
  const outdated = (status?.observedGeneration ?? 0) < metadata.generation;
  if (outdated || isTrue(status?.conditions, "Reconciling")) return "Reconciling";
  return isTrue(status?.conditions, "Ready") ? "Ready" : "NotReady";
}
