import { getCondition } from "../api/v1alpha1/conditions.ts";
import type { GpuEndpoint } from "../api/v1alpha1/gpu-endpoint.ts";
import { gpuEndpointResource } from "../api/v1alpha1/kinds.ts";
import { type Clock, delay } from "../clock.ts";
import type { KubeClient } from "../kube/client.ts";
import { isNotFound } from "../kube/errors.ts";
import { listAll } from "./release-objects.ts";

const LOOK_AGAIN_MS = 1_000;

export type ScaleOptions = {
  clock: Clock;
  /** Empty for all. */
  namespaces: readonly string[];
  dryRun: boolean;
  /** Ends the wait for the operator. */
  timeout: AbortSignal;
  print: (line: string) => void;
};

/**
 * Suspends every GpuEndpoint that Mooring manages, and returns when the running operator has confirmed that each remote
 * endpoint has workers 0/0. Endpoints that are only observed stay as they are.
 * @throws Error that names the endpoints that are not confirmed when `timeout` aborts
 */
export async function scaleEndpointsToZero(kube: KubeClient, options: ScaleOptions): Promise<void> {
  const { clock, dryRun, timeout, print } = options;
  for (const endpoint of await managedEndpoints(kube, options.namespaces)) {
    if (endpoint.spec.suspend) continue;
    if (!dryRun && !(await suspend(kube, endpoint))) continue;
    print(`GpuEndpoint ${keyOf(endpoint)}: ${dryRun ? "would be suspended" : "suspended"}`);
  }
  if (dryRun) return;
  for (;;) {
    const waiting = (await managedEndpoints(kube, options.namespaces)).filter((endpoint) => !isScaled(endpoint));
    if (waiting.length === 0) return;
    if (timeout.aborted) throw new Error(notScaled(waiting));
    await delay(clock, LOOK_AGAIN_MS, timeout);
  }
}

/** Those whose workers an operator sets. A deletion follows its own policy. */
async function managedEndpoints(kube: KubeClient, namespaces: readonly string[]): Promise<GpuEndpoint[]> {
  const managed: GpuEndpoint[] = [];
  for (const namespace of namespaces.length > 0 ? namespaces : [undefined]) {
    for await (const endpoint of listAll<GpuEndpoint>(kube, gpuEndpointResource, { namespace })) {
      const observed = endpoint.spec.managementPolicy === "Observe";
      if (!observed && endpoint.metadata.deletionTimestamp === undefined) managed.push(endpoint);
    }
  }
  return managed;
}

/** Returns false if the object was deleted meanwhile. */
async function suspend(kube: KubeClient, { metadata: { namespace, name } }: GpuEndpoint): Promise<boolean> {
  try {
    await kube.mergePatch(gpuEndpointResource, { namespace, name }, { spec: { suspend: true } });
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

/** A read confirmed the suspended spec. Without a remote endpoint there is nothing to scale: a later create has workers 0/0. */
function isScaled({ metadata, spec, status }: GpuEndpoint): boolean {
  if (status?.endpointID === undefined) return true;
  const workersDiffer = status.drift?.some(({ field }) => field.startsWith("workers")) === true;
  return spec.suspend && status.appliedGeneration === metadata.generation && !workersDiffer;
}

function notScaled(endpoints: readonly GpuEndpoint[]): string {
  const names = endpoints.map((endpoint) => {
    const message = getCondition(endpoint.status?.conditions, "Ready")?.message ?? "not reconciled yet";
    return `  GpuEndpoint ${keyOf(endpoint)}: ${message}`;
  });
  return [
    `${endpoints.length} ${endpoints.length === 1 ? "endpoint is" : "endpoints are"} not scaled to zero: see that an operator runs, and run this again, or leave out --scale-endpoints-to-zero`,
    ...names,
  ].join("\n");
}

const keyOf = ({ metadata: { namespace, name } }: GpuEndpoint): string => `${namespace}/${name}`;
