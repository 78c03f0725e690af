import type { GpuEndpoint } from "../../api/v1alpha1/gpu-endpoint.ts";
import { FINALIZER } from "../../api/v1alpha1/meta.ts";
import type { ReconcileContext, Request, Result } from "../../runtime/controller.ts";
import type { EventRecorder } from "../../runtime/recorder.ts";
import { earlierOf } from "../reconciler.ts";
import { deletionPolicyOf } from "./deletion-policy.ts";
import type { FinalizeInput } from "./finalize.ts";
import type { EndpointMemories, EndpointMemory } from "./memory.ts";

/** When the account is not known yet: nobody wakes an object that does not exist. */
const RETRY_MS = 10_000;

type DepartedDeps = {
  memories: EndpointMemories;
  recorder: Pick<EventRecorder, "normal">;
  finalize: (input: FinalizeInput) => Promise<Result>;
};

/**
 * Forgets the objects that had a key before `present`, the UID of the object that has it now. Call it from the key's own reconcile.
 *
 * An object can disappear while its create is under way, although it has the finalizer: a user removes it, or the API server decides on a
 * deletion before it stores the finalizer and completes it afterwards. No status shows the new endpoint, so the deletion policy is applied
 * with the object as it was when its record was stored. After a restart nothing is known of it, and the account counts the endpoint as
 * orphaned.
 * @returns when to call it again
 */
export async function forgetDeparted(
  deps: DepartedDeps,
  { key }: Pick<Request, "key">,
  present: string | undefined,
  context: ReconcileContext,
): Promise<Result> {
  let again: Result;
  for (const memory of deps.memories.former(key, present)) {
    again = earlierOf(again, await forgetOne(deps, memory, context));
  }
  return again;
}

async function forgetOne(
  { memories, recorder, finalize }: DepartedDeps,
  memory: EndpointMemory,
  context: ReconcileContext,
) {
  const endpoint = memory.own?.endpoint;
  // Without the finalizer, the endpoint is left unchanged.
  if (endpoint?.metadata.finalizers?.includes(FINALIZER)) {
    const result = await finalize({ endpoint, departed: true, context });
    if (memory.own !== undefined) return result ?? { requeueAfterMs: RETRY_MS };
  }
  if (memory.retained !== undefined) announceRetained(recorder, memory.retained);
  memories.forget(memory);
  return undefined;
}

/** One event for each deleted GpuEndpoint whose remote endpoint is kept. An operator that starts later does not know of it. */
function announceRetained(recorder: Pick<EventRecorder, "normal">, endpoint: GpuEndpoint): void {
  const note = `deletionPolicy is Retain: endpoint ${endpoint.status?.endpointID} stays at the service as it is and may continue to cost money`;
  recorder.normal(endpoint, "Retained", "Delete", note);
}

/** Whether the deletion of the object leaves its remote endpoint unchanged. Such an object has no finalizer. */
export function isRetained(endpoint: GpuEndpoint): boolean {
  const { spec, status } = endpoint;
  return (
    spec.managementPolicy === "Full" && deletionPolicyOf(endpoint) === "Retain" && status?.endpointID !== undefined
  );
}
