import { type ConditionUpdate, getCondition, removeCondition, setConditions } from "../api/v1alpha1/conditions.ts";
import type { Reason } from "../api/v1alpha1/reasons.ts";
import { rfc3339 } from "../base/clock.ts";
import type { Condition, KubeObject } from "../kube/types.ts";
import type { Result } from "../runtime/controller.ts";
import type { EventRecorder } from "../runtime/recorder.ts";
import type { Kind } from "./controller-deps.ts";
import type { Cause, Verdict } from "./verdict.ts";

/**
 * Reports how a reconcile ended: the only place that converts a verdict to conditions, an event and a requeue, for every kind.
 *
 * | verdict | Ready | Reconciling | Stalled | event | requeue |
 * |---|---|---|---|---|---|
 * | Done | `done` | | | | `againMs` |
 * | Waiting, Retry | False, or Unknown | True | | | `againMs`; backoff |
 * | Stalled | False | | True | Warning, once per message | `againMs` |
 * | Failed | False | | True, with Failed=True | Warning, once per message | |
 *
 * While a new object refers to something that is not there, Stalled shows as Waiting (`APPLY_MS`).
 */
export function conditionsOf(verdict: Verdict, done: ConditionUpdate, waitingReady: "False" | "Unknown" = "False") {
  switch (verdict.kind) {
    case "Done":
      return [done];
    case "Waiting":
    case "Retry":
      return waitingConditions(verdict, waitingReady);
    case "Stalled":
      return [stalledCondition(verdict)];
    case "Failed": {
      const { reason, message } = verdict;
      return [{ type: "Failed", status: "True", reason, message } as const, stalledCondition(verdict)];
    }
  }
}

export function waitingConditions({ reason, message }: Cause, ready: "False" | "Unknown" = "False"): ConditionUpdate[] {
  return [
    { type: "Ready", status: ready, reason, message },
    { type: "Reconciling", status: "True", reason, message },
  ];
}

/** Ready=False follows from it (conditions.ts). */
export function stalledCondition({ reason, message }: Cause): ConditionUpdate {
  return { type: "Stalled", status: "True", reason, message };
}

/** Reasons of an object that refers to something that is not there, and may still be applied. */
const NOT_THERE: readonly string[] = [
  "AccountNotFound",
  "ConfigMapNotFound",
  "SecretNotFound",
  "SourceNotFound",
  "StoreNotReady",
] satisfies Reason[];

/**
 * How long a new object waits for what it refers to, before a user is asked to act: objects that are applied together arrive in any order,
 * and operators create Secrets some seconds later.
 */
const APPLY_MS = 15_000;

/** How much longer an object waits for what it refers to, ms. `now`: ms since the epoch. */
function patienceMs(
  reason: string | undefined,
  { creationTimestamp = "" }: KubeObject["metadata"],
  now: number,
): number {
  const leftMs = Date.parse(creationTimestamp) + APPLY_MS - now;
  return leftMs > 0 && NOT_THERE.includes(reason ?? "") ? Math.min(leftMs, APPLY_MS) : 0;
}

/** The next reconcile of a new object that waits for what it refers to: at the end of the wait. Undefined: it does not wait. */
export function patienceOf({ metadata, status }: ShownObject, now: number): Result {
  const leftMs = patienceMs(getCondition(status?.conditions, "Reconciling")?.reason, metadata, now);
  return leftMs > 0 ? { requeueAfterMs: leftMs } : undefined;
}

export type ShownObject = KubeObject<unknown, { conditions?: Condition[] | undefined } | undefined>;

/**
 * The conditions of an object after a reconcile. Every update carries the generation. Reconciling and Stalled are removed unless
 * an update sets one of them. `now`: ms since the epoch.
 */
export function mergeConditions(
  previous: readonly Condition[] | undefined,
  results: readonly ConditionUpdate[],
  metadata: KubeObject["metadata"],
  now: number,
): Condition[] {
  const updates = results.flatMap((update) =>
    update.type === "Stalled" && patienceMs(update.reason, metadata, now) > 0 ? waitingConditions(update) : [update],
  );
  const transient = updates.some(({ type }) => type === "Reconciling" || type === "Stalled");
  const kept = transient ? [...(previous ?? [])] : removeCondition(removeCondition(previous, "Reconciling"), "Stalled");
  const stamped = updates.map((update) => ({ ...update, observedGeneration: metadata.generation }));
  return setConditions(kept, stamped, rfc3339(now));
}

/** Emits one Warning event when an object becomes Stalled, or stalls for another reason. `action`: what was tried. */
export function announceStall(
  recorder: Pick<EventRecorder, "warning">,
  object: ShownObject,
  after: ShownObject["status"],
  action: string,
): void {
  const cause = getCondition(after?.conditions, "Stalled");
  if (cause === undefined) return;
  const before = getCondition(object.status?.conditions, "Stalled");
  if (before?.reason === cause.reason && before.message === cause.message) return;
  recorder.warning(object, cause.reason, action, cause.message);
}

/** When the object is reconciled again. @throws the error of a Retry, so that the queue backs off */
export function requeueOf(verdict: Verdict): Result {
  if (verdict.kind === "Retry") throw verdict.error;
  if (verdict.kind === "Failed" || verdict.againMs === undefined) return undefined;
  return { requeueAfterMs: verdict.againMs };
}

type Observed = { observedGeneration?: number | undefined; conditions: Condition[] } | undefined;

/** For a changed spec that changes nothing else in the status, as of a finished job: the status tells that it was observed. */
export async function observeGeneration<T extends KubeObject<unknown, Observed>>(
  kind: Pick<Kind<T>, "patchStatus">,
  object: T,
  signal: AbortSignal,
): Promise<T> {
  const { status } = object;
  const { generation = 0 } = object.metadata;
  if (status?.observedGeneration === undefined || status.observedGeneration >= generation) return object;
  const conditions = status.conditions.map((condition) => ({ ...condition, observedGeneration: generation }));
  const observed = { ...status, observedGeneration: generation, conditions };
  return kind.patchStatus(object, observed as T["status"], signal);
}
