import { ANNOTATIONS } from "../api/v1alpha1/meta.ts";
import type { Clock } from "../base/clock.ts";
import { type KubeObject, keyOf } from "../kube/types.ts";
import type { Reconcile, ReconcileContext, Request, Result } from "../runtime/controller.ts";
import { isShortened } from "../runtime/shortened.ts";
import type { Kind } from "./controller-deps.ts";
import { patienceOf, type ShownObject } from "./report.ts";

/** The message of objects that use a paused object of which the operator knows nothing. */
export const PAUSED_MESSAGE =
  "it is paused, and the operator has not used it since its start: remove the annotation mooring.dev/paused";

/** The steps of one kind. `createReconciler` calls exactly one of them per reconcile, in the order of this list. */
export type ReconcileSteps<T extends ShownObject> = {
  kind: Pick<Kind<T>, "store">;
  clock: Pick<Clock, "now">;
  /**
   * The whole object, for kinds whose reconciles use fields that `shortened` drops. Undefined: it is not there any more. Called for
   * shortened objects only. Default: the object of the store.
   */
  readWhole?(object: T, context: ReconcileContext): Promise<{ object: T; release(): void } | undefined>;
  /** No object has this key (any more). Default: nothing. */
  forgetDeleted?(request: Request, context: ReconcileContext): Promise<Result>;
  /** The object is being deleted. Default: nothing. */
  finalize?(object: T, context: ReconcileContext): Promise<Result>;
  /** The annotation `mooring.dev/paused` is "true": no remote call. Default: nothing. */
  pause?(object: T, context: ReconcileContext): Promise<Result>;
  /** `requested`: a reconcile request that `status.lastHandledReconcileAt` does not show yet. */
  reconcile(object: T, requested: string | undefined, context: ReconcileContext): Promise<Result>;
};

/** Handles what is the same for every kind: deletion, pause and reconcile requests. */
export function createReconciler<T extends ShownObject>(steps: ReconcileSteps<T>): Reconcile {
  return async (request, context) => {
    const object = steps.kind.store.get(request.key);
    if (object === undefined) return steps.forgetDeleted?.(request, context);
    if (steps.readWhole === undefined || !isShortened(object)) return step(object, context);
    const whole = await steps.readWhole(object, context);
    if (whole === undefined) return undefined;
    try {
      return await step(whole.object, context);
    } finally {
      whole.release();
    }
  };

  async function step(object: T, context: ReconcileContext): Promise<Result> {
    if (object.metadata.deletionTimestamp !== undefined) return steps.finalize?.(object, context);
    if (isPaused(object)) return steps.pause?.(object, context);
    const again = await steps.reconcile(object, reconcileRequestOf(object), context);
    return earlierOf(again, patienceOf(steps.kind.store.get(keyOf(object)) ?? object, steps.clock.now()));
  }
}

export function isPaused({ metadata }: KubeObject): boolean {
  return metadata.annotations?.[ANNOTATIONS.paused] === "true";
}

/**
 * The value of the annotation that requests a reconcile, unless it was handled. With both annotations set, the later time counts;
 * a value that is no time counts as the earliest.
 */
export function reconcileRequestOf({ metadata, status }: KubeObject<unknown, unknown>): string | undefined {
  const { annotations } = metadata;
  const [own, flux] = [annotations?.[ANNOTATIONS.reconcileRequestedAt], annotations?.[ANNOTATIONS.fluxRequestedAt]];
  const requested = own === undefined || flux === undefined ? (own ?? flux) : later(own, flux);
  return requested === lastHandled(status) ? undefined : requested;
}

function later(own: string, flux: string): string {
  return (Date.parse(flux) || 0) > (Date.parse(own) || 0) ? flux : own;
}

function lastHandled(status: unknown): unknown {
  return typeof status === "object" && status !== null && "lastHandledReconcileAt" in status
    ? status.lastHandledReconcileAt
    : undefined;
}

/** The earlier of two requeues. */
export function earlierOf(one: Result, other: Result): Result {
  const times = [one, other].flatMap((result) => result?.requeueAfterMs ?? []);
  return times.length === 0 ? (one ?? other) : { requeueAfterMs: Math.min(...times) };
}
