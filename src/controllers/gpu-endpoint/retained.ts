import type { GpuEndpoint } from "../../api/v1alpha1/gpu-endpoint.ts";
import type { EventRecorder } from "../../runtime/recorder.ts";
import { keyOf } from "../../runtime/store.ts";
import { deletionPolicyOf } from "./finalize.ts";

/**
 * One event for each deleted GpuEndpoint whose remote endpoint stays as it is (`deletionPolicy: Retain`). Such an object has no
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
