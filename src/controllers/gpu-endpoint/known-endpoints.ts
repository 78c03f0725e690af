import type { GpuEndpoint } from "../../api/v1alpha1/gpu-endpoint.ts";
import type { Store } from "../../runtime/store.ts";
import { type claimIndexers, type KnownEndpoints, ownsByAppName } from "./claims.ts";

type Index = keyof ReturnType<typeof claimIndexers>;

/**
 * As `knownEndpoints`, for the objects of a store that has the indexes `claimIndexers`. A bound endpoint costs one lookup. The app
 * names of all statuses are read once, when an endpoint is in no index.
 */
export function endpointsKnownTo(store: Pick<Store<GpuEndpoint>, "byIndex" | "list">): KnownEndpoints {
  const indexed = (index: Index, value: string) => store.byIndex(index, value);
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
