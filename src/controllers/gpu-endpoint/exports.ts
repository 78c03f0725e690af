import { specProblem } from "../../api/manifest/spec-problem.ts";
import type { GpuEndpoint, GpuEndpointStatus } from "../../api/v1alpha1/gpu-endpoint.ts";
import { gpuEndpointResource } from "../../api/v1alpha1/kinds.ts";
import type { Reason } from "../../api/v1alpha1/reasons.ts";
import { ownValue } from "../../base/own-value.ts";
import { findObject } from "../../kube/client.ts";
import { isAlreadyExists, isForbidden, isNotFound } from "../../kube/errors.ts";
import {
  apiVersionOf,
  configMapResource,
  controllerReference,
  type Resource,
  secretResource,
} from "../../kube/resource.ts";
import type { KubeObject } from "../../kube/types.ts";
import type { EndpointRecord } from "../../provider/endpoints/endpoint-record.ts";
import type { Reference } from "../../runtime/reference-poller.ts";
import type { ControllerDeps } from "../controller-deps.ts";
import { type GrantingValue, howToGrant } from "../references.ts";

type Exported = NonNullable<GpuEndpointStatus["exported"]>;
type Values = { url: string; endpointID: string; appName: string };
type Holder = KubeObject & { data?: Record<string, string>; immutable?: boolean };

type ExportOutcome = {
  /** For the status: the objects that hold the export, or are about to. */
  exported: Exported;
  /** A user must act. */
  stalled?: { reason: Reason; message: string };
  requeueAfterMs?: number;
  /** A failed call to the API server, or a conflict: to be thrown when the status is written. */
  error?: unknown;
};

/** Where an export goes, how that kind spells a value, and the value of the chart that grants the permission. */
type Target = {
  field: keyof Exported;
  resource: Resource;
  spell: (value: string) => string;
  grantedBy: GrantingValue;
};
const TARGETS: readonly Target[] = [
  {
    field: "configMap",
    resource: configMapResource,
    spell: (value) => value,
    grantedBy: "rbac.exportNamespaces.configMaps",
  },
  {
    field: "secret",
    resource: secretResource,
    spell: (value) => Buffer.from(value).toString("base64"),
    grantedBy: "rbac.exportNamespaces.secrets",
  },
];

/** The garbage collector removes the exports of an earlier endpoint of the same name within this time. */
const COLLECTED_MS = 60_000;
const LOOK_AGAIN_MS = 2_000;
const FORBIDDEN_RETRY_MS = 60_000;

type ExportInput = {
  shared: Pick<ControllerDeps, "kube" | "clock">;
  endpoint: GpuEndpoint;
  /** The remote endpoint as observed: an adopted endpoint keeps its own app name. */
  record: EndpointRecord | undefined;
  signal: AbortSignal;
};

/** The objects that `exportTo` of a valid spec names: followed, so that changes by other clients are noticed. */
export function exportReferences({ spec, metadata: { namespace } }: GpuEndpoint): Reference[] {
  if (specProblem(gpuEndpointResource, spec) !== undefined) return [];
  return TARGETS.flatMap(({ field, resource }) => {
    const name = spec.exportTo?.[field]?.name;
    return name === undefined ? [] : [{ resource, namespace, name }];
  });
}

/**
 * Writes the objects that `exportTo` names, and deletes those that it does not name any more.
 *
 * Guarantees: an object that is not owned by this endpoint is never touched; of one that is, only our keys are written,
 * and only when a value differs; the status shows its name before it is created, so that it is found again when
 * `exportTo` is removed. The garbage collector removes it with the endpoint. Nothing changes while the spec is invalid.
 * @param status as it is about to be written
 */
export async function syncExports(input: ExportInput, status: GpuEndpointStatus): Promise<ExportOutcome> {
  const { spec, status: { exported = {} } = {} } = input.endpoint;
  if (specProblem(gpuEndpointResource, spec) !== undefined) return { exported };
  try {
    return await syncAll(input, status);
  } catch (error) {
    return { exported, error };
  }
}

async function syncAll(input: ExportInput, status: GpuEndpointStatus): Promise<ExportOutcome> {
  const outcome: ExportOutcome = { exported: {} };
  for (const target of TARGETS) {
    const one = await syncOne(input, status, target);
    if (one.name !== undefined) outcome.exported[target.field] = one.name;
    if (one.stalled !== undefined) outcome.stalled ??= one.stalled;
    if (one.requeueAfterMs !== undefined) {
      outcome.requeueAfterMs = Math.min(one.requeueAfterMs, outcome.requeueAfterMs ?? Number.POSITIVE_INFINITY);
    }
  }
  return outcome;
}

/** The status with the exports. */
export function withExports(status: GpuEndpointStatus, { exported }: ExportOutcome): GpuEndpointStatus {
  if (Object.keys(exported).length > 0) return { ...status, exported };
  if (status.exported === undefined) return status;
  const { exported: _previous, ...others } = status;
  return others;
}

type One = Omit<ExportOutcome, "exported" | "error"> & { name: string | undefined };

async function syncOne(input: ExportInput, status: GpuEndpointStatus, target: Target): Promise<One> {
  const { endpoint } = input;
  const wanted = endpoint.spec.exportTo?.[target.field]?.name;
  const previous = endpoint.status?.exported?.[target.field];
  try {
    if (previous !== undefined && previous !== wanted) {
      await removeExport(input, target, previous);
      // The next name is not used before this one is out of the status.
      return { name: undefined, ...(wanted === undefined ? {} : { requeueAfterMs: 0 }) };
    }
    const { url, endpointID } = status;
    const appName = endpoint.spec.adoption === undefined ? status.appName : input.record?.appName;
    if (wanted === undefined || !url || !endpointID || !appName) return { name: previous };
    return await writeExport(input, target, wanted, { url, endpointID, appName });
  } catch (error) {
    if (!isForbidden(error)) throw error;
    const { namespace } = endpoint.metadata;
    const { resource, field, grantedBy } = target;
    if (error instanceof Error && error.message.includes("being terminated")) return { name: previous };
    const grant = howToGrant(resource, namespace, "get, create, patch and delete", grantedBy);
    const message = `exportTo.${field}: the operator may not write ${resource.kind} ${namespace}/${previous ?? wanted}: ${grant}, or remove exportTo.${field}`;
    return { name: previous, stalled: { reason: "ExportForbidden", message }, requeueAfterMs: FORBIDDEN_RETRY_MS };
  }
}

async function writeExport(input: ExportInput, target: Target, name: string, values: Values): Promise<One> {
  const { shared, endpoint, signal } = input;
  const { namespace } = endpoint.metadata;
  const { resource, field } = target;
  const data = Object.fromEntries(Object.entries(values).map(([key, value]) => [key, target.spell(value)]));
  const present = await find(input, target, name);
  if (present === undefined) {
    if (endpoint.status?.exported?.[field] !== name) return { name, requeueAfterMs: 0 };
    const metadata = {
      name,
      namespace,
      labels: LABELS,
      ownerReferences: [controllerReference(gpuEndpointResource, endpoint.metadata)],
    };
    const body = { apiVersion: apiVersionOf(resource), kind: resource.kind, metadata, data } as unknown as Holder;
    try {
      await shared.kube.create<Holder>(resource, { namespace }, body, { signal });
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      return { name, requeueAfterMs: 0 };
    }
    return { name };
  }
  const place = `${resource.kind} ${namespace}/${name}`;
  if (!isOwned(endpoint, present)) {
    if (isBeingDeleted(input, present))
      return { name: endpoint.status?.exported?.[field], requeueAfterMs: LOOK_AGAIN_MS };
    const message = `exportTo.${field} names ${place}, which exists and does not belong to this endpoint: Mooring does not change it; choose another name, or delete it`;
    return { name: endpoint.status?.exported?.[field], stalled: { reason: "ExportConflict", message } };
  }
  const differing = Object.entries(data).filter(([key, value]) => ownValue(present.data, key) !== value);
  if (differing.length === 0) return { name };
  if (present.immutable === true) {
    const message = `exportTo.${field} names ${place}, which is immutable and has other values: delete it, and Mooring creates it again`;
    return { name, stalled: { reason: "ExportConflict", message } };
  }
  const { resourceVersion } = present.metadata;
  const patch = { metadata: { resourceVersion }, data: Object.fromEntries(differing) };
  await shared.kube.mergePatch(resource, { namespace, name }, patch, { signal });
  return { name };
}

/** Deletes an export that `exportTo` does not name any more, if it is still ours. */
async function removeExport(input: ExportInput, target: Target, name: string): Promise<void> {
  const { shared, endpoint, signal } = input;
  const present = await find(input, target, name);
  if (present === undefined || !isOwned(endpoint, present)) return;
  const { uid, resourceVersion, namespace } = present.metadata;
  try {
    await shared.kube.delete(
      target.resource,
      { namespace, name },
      { signal, body: { preconditions: { uid, resourceVersion } } },
    );
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

function find({ shared, endpoint, signal }: ExportInput, { resource }: Target, name: string) {
  return findObject<Holder>(shared.kube, resource, { namespace: endpoint.metadata.namespace, name }, { signal });
}

const LABELS = { "app.kubernetes.io/managed-by": "mooring" };

function isOwned({ metadata: { uid } }: GpuEndpoint, { metadata }: Holder): boolean {
  return metadata.ownerReferences?.some((owner) => owner.uid === uid) === true;
}

/** Being deleted, or owned by an earlier endpoint of this name that was just deleted. */
function isBeingDeleted({ shared, endpoint }: ExportInput, { metadata }: Holder): boolean {
  const { name, creationTimestamp } = endpoint.metadata;
  if (metadata.deletionTimestamp !== undefined) return true;
  const earlier = metadata.ownerReferences?.some(({ kind, name: owner }) => kind === "GpuEndpoint" && owner === name);
  return earlier === true && shared.clock.now() - Date.parse(creationTimestamp) < COLLECTED_MS;
}
