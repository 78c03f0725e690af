import type { Kind } from "../controllers/controller-deps.ts";
import type { KubeObject } from "../kube/types.ts";
import type { Reconcile } from "../runtime/controller.ts";
import type { EventRecorder } from "../runtime/recorder.ts";
import type { OwnedRow, Ownership } from "./ownership.ts";

/** Reconciles an object only while this shard has it. */
export function whileOwned(
  { ownership, row }: { ownership: Pick<Ownership, "owns">; row: OwnedRow },
  { store }: Pick<Kind<KubeObject>, "store">,
  reconcile: Reconcile,
): Reconcile {
  return async (request, context) => {
    const object = store.get(request.key);
    return object === undefined || ownership.owns(row, object) ? reconcile(request, context) : undefined;
  };
}

/** A kind whose statuses and events another shard writes: this one reads its objects only. */
export function readOnly<T extends KubeObject>(kind: Kind<T>): Kind<T> {
  return {
    ...kind,
    patchStatus: async (object) => object,
    setFinalizer: async (object) => object,
  };
}

/** For objects whose events another shard writes. */
export const NO_EVENTS: EventRecorder = { normal: () => {}, warning: () => {}, flush: async () => {} };
