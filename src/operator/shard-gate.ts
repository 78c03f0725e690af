import type { Submission } from "../api/v1alpha1/meta.ts";
import { type Clock, rfc3339 } from "../base/clock.ts";
import type { Kind } from "../controllers/controller-deps.ts";
import type { KubeObject } from "../kube/types.ts";
import type { Reconcile } from "../runtime/controller.ts";
import type { EventRecorder } from "../runtime/recorder.ts";
import type { Journal } from "../submission/journal.ts";
import { dependantOf, type OwnedRow, type Ownership } from "./ownership.ts";

export type ShardGate = {
  ownership: Pick<Ownership, "owns">;
  row: OwnedRow;
  journal: Pick<Journal, "covers" | "find">;
  /** Whether a paid request of the object is under way in this process. */
  isRunning: (uid: string) => boolean;
  clock: Pick<Clock, "now">;
};

/**
 * Reconciles an object only while this shard has it. An intent that was not sent keeps an object at its shard. If a user names an
 * account of another shard, the status shows that the intent was not sent, and the object goes to the other shard.
 */
export function whileOwned(
  gate: ShardGate,
  kind: Pick<Kind<KubeObject>, "store" | "patchStatus">,
  reconcile: Reconcile,
): Reconcile {
  const { ownership, row } = gate;
  return async (request, context) => {
    const object = kind.store.get(request.key);
    if (object === undefined) return reconcile(request, context);
    if (!ownership.owns(row, object)) return undefined;
    const released = withoutIntent(gate, object);
    if (released === undefined || ownership.owns(row, { ...object, status: released })) {
      return reconcile(request, context);
    }
    await kind.patchStatus(object, released, context.signal);
    return undefined;
  };
}

/** The status without the intent that it shows, if this process surely did not send it; else undefined. */
function withoutIntent({ row, journal, isRunning, clock }: ShardGate, object: KubeObject): object | undefined {
  const { metadata, status } = dependantOf(row, object) ?? {};
  const { submission } = status ?? {};
  const { uid = "" } = metadata ?? {};
  if (submission?.state !== "Intended" || submission.journal === undefined) return undefined;
  if (!journal.covers(uid, submission.journal) || journal.find(uid) !== undefined || isRunning(uid)) return undefined;
  const settled: Submission = { ...submission, state: "NotSent", time: rfc3339(clock.now()) };
  const phase = status?.phase === "Submitting" ? { phase: "Pending" } : {};
  return { ...status, ...phase, submission: settled };
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
