import type { GpuEndpoint } from "../../api/v1alpha1/gpu-endpoint.ts";
import { FINALIZER } from "../../api/v1alpha1/meta.ts";
import { keyOf } from "../../kube/types.ts";
import type { ReconcileContext, Request, Result } from "../../runtime/controller.ts";
import type { EventRecorder } from "../../runtime/recorder.ts";
import { settleGone } from "../../submission/intents.ts";
import type { ControllerDeps, Kind } from "../controller-deps.ts";
import { earlierOf } from "../reconciler.ts";
import type { UnknownCreates } from "./creates.ts";
import { deletionPolicyOf, type FinalizeInput } from "./finalize.ts";

/**
 * Objects that disappear while their create is under way, although they have the finalizer: a user removes it, or the API
 * server decides on a deletion before it stores the finalizer and completes it afterwards. No status shows the new endpoint,
 * so the deletion policy is applied with what this process remembers of the object. After a restart nothing is remembered;
 * the log names the entry, and the account counts the endpoint as orphaned.
 */
type DepartedObjects = {
  /**
   * A create may follow. The object is surely current (`CurrentState`): its deletion policy is not an earlier one. When an object
   * without the finalizer goes, its endpoint is not changed.
   */
  remember(endpoint: GpuEndpoint): void;
  /**
   * Applies the deletion policy of objects that had this key, and settles their journal entries. Call it from the key's own
   * reconcile. Returns when to call it again.
   * @param present UID of the object that has the key now
   */
  finalize(request: Request, present: string | undefined, context: ReconcileContext): Promise<Result>;
  /** Forgets an object without a journal entry: its status shows its endpoint. */
  forgetSettled(uid: string): void;
};

/** When the account is not known yet: nobody wakes an object that does not exist. */
const RETRY_MS = 10_000;

export function createDepartedObjects(
  shared: ControllerDeps,
  kind: Kind<GpuEndpoint>,
  finalize: (input: FinalizeInput) => Promise<Result>,
  unknownCreates: UnknownCreates,
): DepartedObjects {
  const { journal } = shared;
  /** By UID. */
  const creating = new Map<string, GpuEndpoint>();

  /** Returns when to try again; undefined when the entry is settled. */
  async function finalizeOne(endpoint: GpuEndpoint, context: ReconcileContext): Promise<Result> {
    const { uid } = endpoint.metadata;
    const entry = journal.find(uid);
    const unknownForMs = unknownCreates.ageMs(uid, entry);
    const result = await finalize({ endpoint, entry, unknownForMs, departed: true, context });
    if (journal.find(uid) !== undefined) return result ?? { requeueAfterMs: RETRY_MS };
    creating.delete(uid);
    return undefined;
  }

  return {
    remember(endpoint) {
      const { uid, finalizers } = endpoint.metadata;
      if (finalizers?.includes(FINALIZER)) creating.set(uid, endpoint);
    },
    async finalize({ key }, present, context) {
      const { resource } = kind;
      const entries = journal.entriesOf({ kind: resource.kind, key });
      const departed = entries.flatMap(({ uid }) => (uid === present ? [] : (creating.get(uid) ?? [])));
      let again: Result;
      for (const endpoint of departed) again = earlierOf(again, await finalizeOne(endpoint, context));
      return again ?? settleGone(shared, { resource, key }, present, context.signal);
    },
    forgetSettled(uid) {
      if (journal.find(uid) === undefined) creating.delete(uid);
    },
  };
}

/**
 * One event for each deleted GpuEndpoint whose remote endpoint is kept (`deletionPolicy: Retain`). Such an object has no
 * finalizer, so the event comes after the object is gone. An operator that starts later does not know of it.
 */
export function createRetainedEndpoints(recorder: EventRecorder) {
  const retained = new Map<string, GpuEndpoint>();

  function announce(key: string): void {
    const endpoint = retained.get(key);
    retained.delete(key);
    if (endpoint === undefined) return;
    const note = `deletionPolicy is Retain: endpoint ${endpoint.status?.endpointID} stays at the service as it is and may continue to cost money`;
    recorder.normal(endpoint, "Retained", "Delete", note);
  }

  return {
    /** The object as it is now. */
    observe(endpoint: GpuEndpoint): void {
      const key = keyOf(endpoint);
      const known = retained.get(key);
      if (known !== undefined && known.metadata.uid !== endpoint.metadata.uid) announce(key);
      if (isRetained(endpoint)) retained.set(key, endpoint);
      else retained.delete(key);
    },
    /** No object has this key any more. */
    announce,
  };
}

function isRetained(endpoint: GpuEndpoint): boolean {
  const { spec, status } = endpoint;
  return (
    spec.managementPolicy === "Full" && deletionPolicyOf(endpoint) === "Retain" && status?.endpointID !== undefined
  );
}
