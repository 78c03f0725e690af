import type { GpuEndpoint } from "../../api/v1alpha1/gpu-endpoint.ts";
import { FINALIZER } from "../../api/v1alpha1/meta.ts";
import { keyOf } from "../../kube/types.ts";
import type { ReconcileContext, Request, Result } from "../../runtime/controller.ts";
import type { EventRecorder } from "../../runtime/recorder.ts";
import { earlierOf } from "../reconciler.ts";
import type { Creates } from "./creates.ts";
import { deletionPolicyOf } from "./deletion-policy.ts";
import type { FinalizeInput } from "./finalize.ts";

/**
 * Objects that disappear while their create is under way, although they have the finalizer: a user removes it, or the API
 * server decides on a deletion before it stores the finalizer and completes it afterwards. No status shows the new endpoint,
 * so the deletion policy is applied with the object as it was when its record was stored. After a restart nothing is known of it, and the
 * account counts the endpoint as orphaned.
 */
type DepartedObjects = {
  /**
   * Applies the deletion policy of objects that had this key. Call it from the key's own reconcile. Returns when to call it again.
   * @param present UID of the object that has the key now
   */
  finalize(request: Request, present: string | undefined, context: ReconcileContext): Promise<Result>;
};

/** When the account is not known yet: nobody wakes an object that does not exist. */
const RETRY_MS = 10_000;

export function createDepartedObjects(
  creates: Pick<Creates, "departed" | "find" | "end">,
  finalize: (input: FinalizeInput) => Promise<Result>,
): DepartedObjects {
  /** Returns when to try again; undefined when nothing is left of it. */
  async function finalizeOne(endpoint: GpuEndpoint, context: ReconcileContext): Promise<Result> {
    const { uid, finalizers = [] } = endpoint.metadata;
    // Without the finalizer, the endpoint is left unchanged.
    if (!finalizers.includes(FINALIZER)) {
      creates.end(uid);
      return undefined;
    }
    const open = creates.find(endpoint);
    const result = await finalize({ endpoint, ...open, departed: true, context });
    return creates.find(endpoint).entry === undefined ? undefined : (result ?? { requeueAfterMs: RETRY_MS });
  }

  return {
    async finalize({ key }, present, context) {
      let again: Result;
      for (const endpoint of creates.departed(key, present))
        again = earlierOf(again, await finalizeOne(endpoint, context));
      return again;
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
