import { getCondition, isTrue, needsUser } from "../api/v1alpha1/conditions.ts";
import { PENDING_CONDITION } from "../api/v1alpha1/meta.ts";
import { ownValue } from "../base/own-value.ts";
import { isPaused } from "../controllers/reconciler.ts";
import type { Condition, KubeObject, StoredMeta } from "../kube/types.ts";

/** An object of any of our kinds, with the parts of the status that all of them share and those of jobs and endpoints. */
export type AnyObject = KubeObject<unknown, AnyStatus> & { metadata: StoredMeta };
export type AnyStatus = {
  conditions?: Condition[] | undefined;
  observedGeneration?: number | undefined;
  /** Jobs. */
  phase?: string | undefined;
  progressPercent?: number | undefined;
  etaSeconds?: number | undefined;
  submitTime?: string | undefined;
  completionTime?: string | undefined;
  taskID?: string | undefined;
  /** Endpoints. */
  endpointID?: string | undefined;
  url?: string | undefined;
  workers?: { ready?: number | undefined } | undefined;
  /** Of a job; of an endpoint in the current month. Yuan. */
  estimatedCost?: string | { month: string } | undefined;
  /** Accounts. */
  spend?: { month?: string | undefined } | undefined;
  /** Batches. */
  total?: number | undefined;
  succeeded?: number | undefined;
  failed?: number | undefined;
  halted?: number | undefined;
  costSoFar?: string | undefined;
  /** Bill reports. */
  totals?: { amount?: string | undefined } | undefined;
  /** Jobs and endpoints: the last paid request or create. */
  submission?: { attempt: number; state: string; time: string } | undefined;
  /** Jobs and endpoints: what they are bound to. */
  account?: { kind: string; name: string; baseURL?: string } | undefined;
  /** Accounts: the process that serves it, which is named like its Lease. */
  server?: { namespace: string; lease: string; since: string; released?: string | undefined } | undefined;
  /** Endpoints. */
  drift?: { field: string; desired?: string; observed?: string }[] | undefined;
};

export type ObjectState = {
  /** A job's phase, or Deleting, Paused, Suspended, Stalled, Reconciling, Ready, NotReady. */
  state: string;
  reason: string;
  message: string;
  /** RFC 3339: when the condition that is shown last changed its status. */
  since: string;
  /** Nothing continues before a user acts. A job that failed is over and needs nobody. */
  needsUser: boolean;
  /** Of an account: the process that serves it, as NAMESPACE/NAME. */
  server?: string;
};

/** How a state is colored. `busy`: it goes on by itself. */
export type Tone = "good" | "bad" | "warn" | "busy" | "quiet";

const TONES: Readonly<Record<string, Tone>> = {
  Ready: "good",
  Succeeded: "good",
  Stalled: "bad",
  Failed: "bad",
  Halted: "bad",
  NotReady: "warn",
  Deleting: "warn",
  Paused: "quiet",
  Suspended: "quiet",
};

export function toneOf({ state, needsUser }: Pick<ObjectState, "state" | "needsUser">): Tone {
  return needsUser ? "bad" : (ownValue(TONES, state) ?? "busy");
}

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
    since: sinceOf(shown) ?? metadata.creationTimestamp,
    needsUser: needsUser(status),
    ...serverOf(status),
  };
}

function serverOf({ server }: AnyStatus = {}): Pick<ObjectState, "server"> {
  return server === undefined || server.released !== undefined ? {} : { server: `${server.namespace}/${server.lease}` };
}

/** The condition of a new object has the epoch as its time. */
function sinceOf(shown: Condition | undefined): string | undefined {
  return shown?.lastTransitionTime === PENDING_CONDITION.lastTransitionTime ? undefined : shown?.lastTransitionTime;
}

function stateOf(object: AnyObject, stalled: boolean): string {
  const { metadata, status } = object;
  if (metadata.deletionTimestamp !== undefined) return "Deleting";
  if (isPaused(object)) return "Paused";
  const outdated = (status?.observedGeneration ?? 0) < metadata.generation;
  if (!outdated && isSuspended(status?.conditions)) return "Suspended";
  if (status?.phase !== undefined) return status.phase;
  if (stalled) return "Stalled";
  if (outdated || isTrue(status?.conditions, "Reconciling")) return "Reconciling";
  return isTrue(status?.conditions, "Ready") ? "Ready" : "NotReady";
}

/** A suspended job waits before its submission; a suspended endpoint is ready without workers. */
function isSuspended(conditions: readonly Condition[] | undefined): boolean {
  return getCondition(conditions, "Ready")?.reason === "Suspended";
}
