import { getCondition } from "../../../api/v1alpha1/conditions.ts";
import type { GpuEndpoint } from "../../../api/v1alpha1/gpu-endpoint.ts";
import { gpuEndpointResource } from "../../../api/v1alpha1/kinds.ts";
import { FINALIZER } from "../../../api/v1alpha1/meta.ts";
import { type Clock, delay } from "../../../base/clock.ts";
import type { KubeClient } from "../../../kube/client.ts";
import { isNotFound } from "../../../kube/errors.ts";
import type { ForeignObjects } from "./foreign-objects.ts";
import { listAll } from "./release-objects.ts";

const LOOK_AGAIN_MS = 1_000;

export type ScaleOptions = {
  clock: Clock;
  /** Empty for all. */
  namespaces: readonly string[];
  dryRun: boolean;
  /** Objects of other installations are left alone. */
  foreign: ForeignObjects;
  /** Ends the wait for the operator. */
  timeout: AbortSignal;
  print: (line: string) => void;
};

/**
 * Suspends every GpuEndpoint that Mooring manages, and returns when the running operator has confirmed by a read that each remote
 * endpoint has workers 0/0, and has completed each deletion. Endpoints that are only observed stay as they are.
 * @throws Error that names the endpoints that are not confirmed when `timeout` aborts
 */
export async function scaleEndpointsToZero(kube: KubeClient, options: ScaleOptions): Promise<void> {
  const { clock, dryRun, timeout, print } = options;
  for (const endpoint of await managedEndpoints(kube, options)) {
    if (endpoint.spec.suspend || isDeleted(endpoint)) continue;
    if (!dryRun && !(await suspend(kube, endpoint))) continue;
    print(`GpuEndpoint ${keyOf(endpoint)}: ${dryRun ? "would be suspended" : "suspended"}`);
  }
  if (dryRun) return;
  for (;;) {
    const waiting = (await managedEndpoints(kube, options)).filter((endpoint) => !isScaled(endpoint));
    if (waiting.length === 0) return;
    if (timeout.aborted) throw new Error(notScaled(waiting));
    await delay(clock, LOOK_AGAIN_MS, timeout);
  }
}

/** Those whose workers an operator of this installation sets. */
async function managedEndpoints(
  kube: KubeClient,
  { namespaces, foreign }: Pick<ScaleOptions, "namespaces" | "foreign">,
): Promise<GpuEndpoint[]> {
  const managed: GpuEndpoint[] = [];
  for (const namespace of namespaces.length > 0 ? namespaces : [undefined]) {
    for await (const endpoint of listAll<GpuEndpoint>(kube, gpuEndpointResource, { namespace })) {
      if (isManaged(endpoint) && foreign(gpuEndpointResource, endpoint) === undefined) managed.push(endpoint);
    }
  }
  return managed;
}

/** The operator handles a deletion as long as the object has its finalizer. */
function isManaged(endpoint: GpuEndpoint): boolean {
  if (endpoint.spec.managementPolicy === "Observe") return false;
  return !isDeleted(endpoint) || endpoint.metadata.finalizers?.includes(FINALIZER) === true;
}

const isDeleted = ({ metadata }: GpuEndpoint): boolean => metadata.deletionTimestamp !== undefined;

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

/**
 * Whether a read confirmed the suspended spec. An object that is being deleted counts when its operator has completed the deletion: then
 * it has no finalizer. Without a remote endpoint there is nothing to scale, once the operator has seen the suspended spec and knows the
 * outcome of each create: a later create has workers 0/0.
 */
export function isScaled(endpoint: GpuEndpoint): boolean {
  const { metadata, spec, status } = endpoint;
  if (!isManaged(endpoint)) return true;
  if (!spec.suspend || isDeleted(endpoint)) return false;
  if (status?.endpointID === undefined) {
    const isUnknown = status?.submission?.state === "Intended" || status?.submission?.state === "Unknown";
    const isCreating = getCondition(status?.conditions, "Ready")?.reason === "Creating";
    return status?.observedGeneration === metadata.generation && !isUnknown && !isCreating;
  }
  const workersDiffer = status.drift?.some(({ field }) => field.startsWith("workers")) === true;
  return status.appliedGeneration === metadata.generation && !workersDiffer;
}

function notScaled(endpoints: readonly GpuEndpoint[]): string {
  const names = endpoints.map((endpoint) => {
    return `  GpuEndpoint ${keyOf(endpoint)}: ${stateOf(endpoint)}`;
  });
  return [
    `${endpoints.length} ${endpoints.length === 1 ? "endpoint is" : "endpoints are"} not scaled to zero: see that an operator runs, and run this again, or leave out --scale-endpoints-to-zero`,
    ...names,
  ].join("\n");
}

/** In one line. */
export function stateOf(endpoint: GpuEndpoint): string {
  const message = getCondition(endpoint.status?.conditions, "Ready")?.message ?? "not reconciled yet";
  return `${isDeleted(endpoint) ? "is being deleted; " : ""}${message}`;
}

const keyOf = ({ metadata: { namespace, name } }: GpuEndpoint): string => `${namespace}/${name}`;
