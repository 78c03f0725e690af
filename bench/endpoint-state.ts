import { getCondition } from "../src/api/v1alpha1/conditions.ts";
import type { GpuEndpoint, GpuEndpointStatus } from "../src/api/v1alpha1/gpu-endpoint.ts";

/** What counts of a GpuEndpoint. */
type Shown = {
  metadata: Pick<GpuEndpoint["metadata"], "generation">;
  spec: Pick<GpuEndpoint["spec"], "workers">;
  status?: Pick<GpuEndpointStatus, "conditions"> | undefined;
};

/** Ready in its current generation, with this `workers.max`. */
export function hasWorkers({ spec, status, metadata }: Shown, max: number): boolean {
  const ready = getCondition(status?.conditions, "Ready");
  return spec.workers.max === max && ready?.status === "True" && ready.observedGeneration === metadata.generation;
}
