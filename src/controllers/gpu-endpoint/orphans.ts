import type { GpuEndpoint } from "../../api/v1alpha1/gpu-endpoint.ts";
import type { EndpointRecord } from "../../provider/endpoints/endpoint-record.ts";
import { appNameOf } from "./desired.ts";

/** The remote endpoints that the GpuEndpoints of a cluster own or may own. */
export type KnownEndpoints = { appNames: ReadonlySet<string>; endpointIDs: ReadonlySet<string> };

/** `NAME-HASH`, the form of `appNameOf`: at most 52 characters of a name, then 10 hex digits. */
const GENERATED = /^([a-z0-9](?:[a-z0-9-]{0,50}[a-z0-9])?)-([0-9a-f]{10})$/;

/**
 * The remote endpoints that objects of this cluster may own: by the IDs that they are bound to or adopt, and by the app names
 * that they have or would generate. Objects of every account, since several accounts may show the same endpoints.
 */
export function knownEndpoints(endpoints: Iterable<GpuEndpoint>, clusterUID: string): KnownEndpoints {
  const appNames = new Set<string>();
  const endpointIDs = new Set<string>();
  for (const endpoint of endpoints) {
    appNames.add(appNameOf(endpoint, clusterUID));
    const { appName } = endpoint.status ?? {};
    if (appName !== undefined) appNames.add(appName);
    for (const id of endpointIDsOf(endpoint)) endpointIDs.add(id);
  }
  return { appNames, endpointIDs };
}

/** The remote endpoints that an object is bound to or adopts. */
export function endpointIDsOf({ spec, status }: GpuEndpoint): string[] {
  const ids = [status?.endpointID, spec.adoption?.endpointID];
  return ids.filter((id): id is string => id !== undefined && id !== "");
}

/**
 * Whether the app name has the form of a generated one. A hash cannot be traced back to an object that is gone, so this
 * is all that a name can tell. Ten decimal digits are rather a time than a hash, so then the name shown at the remote
 * must be the default one too.
 */
export function looksGenerated({ appName, name }: Pick<EndpointRecord, "appName" | "name">): boolean {
  const [, objectName, hash] = GENERATED.exec(appName) ?? [];
  if (objectName === undefined || hash === undefined) return false;
  return /[a-f]/.test(hash) || name.replaceAll(".", "-").includes(`-${objectName}`);
}

/**
 * Endpoints whose app name an operator generated and that no object of this cluster owns: what a deletion with
 * Retain or ScaleToZero leaves behind, and what a lost cluster forgot. It may also be the endpoint of another cluster
 * (or of a namespace that this operator does not watch) that uses the same account: the service shows nothing that
 * would tell them apart, so an orphan is a report, never a reason to act. Those that can run workers come first.
 */
export function findOrphans(records: Iterable<EndpointRecord>, known: KnownEndpoints): EndpointRecord[] {
  const orphans = [...records].filter(
    (record) => looksGenerated(record) && !known.appNames.has(record.appName) && !known.endpointIDs.has(record.id),
  );
  return orphans.sort((a, b) => Number(canRunWorkers(b)) - Number(canRunWorkers(a)));
}

/** Whether the endpoint may cost money for workers: it is not scaled to 0/0, or a worker is still there. */
export function canRunWorkers({ scaling, workers }: EndpointRecord): boolean {
  return scaling.max !== 0 || workers.length > 0;
}
