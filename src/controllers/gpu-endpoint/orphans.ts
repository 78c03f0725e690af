import type { GpuEndpoint } from "../../api/v1alpha1/gpu-endpoint.ts";
import type { EndpointRecord } from "../../provider/endpoints/endpoint-record.ts";
import { createStore, type Store } from "../../runtime/store.ts";
import { claimIndexers } from "./claims.ts";

/** The remote endpoints that the GpuEndpoints of a cluster own or may own. */
export type KnownEndpoints = Record<"appNames" | "endpointIDs", Pick<ReadonlySet<string>, "has">>;

const GENERATED = /^([a-z0-9](?:[a-z0-9-]{0,50}[a-z0-9])?)-([0-9a-f]{10})$/;

/** As `endpointsKnownTo`, for a list of objects. */
export function knownEndpoints(endpoints: Iterable<GpuEndpoint>, clusterUID: string): KnownEndpoints {
  const store = createStore(claimIndexers(clusterUID));
  for (const endpoint of endpoints) store.upsert(endpoint);
  return endpointsKnownTo(store);
}

/**
 * The remote endpoints that objects of this cluster may own: by the IDs that they are bound to or adopt, and by the app names of
 * objects that are not bound yet (`ownsByAppName`). Objects of every account, since several accounts may show the same endpoints. A bound
 * endpoint costs one lookup. The app names of all statuses are read once, when an endpoint is in no index.
 */
export function endpointsKnownTo(store: Pick<Store<GpuEndpoint>, "byIndex" | "list">): KnownEndpoints {
  const indexed = (index: keyof ReturnType<typeof claimIndexers>, value: string) => store.byIndex(index, value);
  let shown: ReadonlySet<string | undefined> | undefined;

  function shownAppNames(): ReadonlySet<string | undefined> {
    shown ??= new Set([...store.list()].filter(ownsByAppName).map(({ status }) => status?.appName));
    return shown;
  }

  return {
    endpointIDs: { has: (id) => indexed("endpointID", id).length > 0 },
    appNames: { has: (appName) => indexed("appName", appName).some(ownsByAppName) || shownAppNames().has(appName) },
  };
}

/**
 * Whether an endpoint with the object's app name may be its own, whatever its ID: until it is bound, and while a create is under
 * way. Later, another endpoint with the name is an orphan.
 */
export function ownsByAppName(endpoint: GpuEndpoint): boolean {
  const { endpointID = "", submission } = endpoint.status ?? {};
  return endpointID === "" || submission?.state === "Intended";
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
 * Retain or ScaleToZero leaves behind, and endpoints of a lost cluster. It may also be the endpoint of another cluster
 * (or of a namespace that this operator does not watch) that uses the same account: the service shows nothing that
 * would tell them apart, so an orphan is a report, never a reason to act. Those that can run workers come first.
 */
export function findOrphans(records: Iterable<EndpointRecord>, known: KnownEndpoints): EndpointRecord[] {
  const orphans = [...records].filter(
    (record) => !known.endpointIDs.has(record.id) && looksGenerated(record) && !known.appNames.has(record.appName),
  );
  return orphans.sort((a, b) => Number(canRunWorkers(b)) - Number(canRunWorkers(a)));
}

/** Whether the endpoint may cost money for workers: it is not scaled to 0/0, or a worker is still there. */
export function canRunWorkers({ scaling, workers }: EndpointRecord): boolean {
  return scaling.max !== 0 || workers.length > 0;
}
