import { rfc3339 } from "../../base/clock.ts";
import { canRunWorkers, type KnownEndpoints, looksGenerated } from "../../controllers/gpu-endpoint/orphans.ts";
import type { EndpointRecord } from "../../provider/endpoints/endpoint-record.ts";

/** An endpoint of the account that no object of the cluster is bound to. */
export type UnclaimedEndpoint = {
  id: string;
  name: string;
  appName: string;
  /** The service's word. */
  status: string;
  /** The bounds of its workers, and those there are; undefined where the service does not say. */
  workers: { min: number | undefined; max: number | undefined; total: number };
  url: string;
  /** RFC 3339; undefined in the earlier generation. */
  createdAt: string | undefined;
  /** Its app name has the form that Mooring generates: an operator made it, of this cluster or another. */
  generated: boolean;
};

/** Those with a generated app name come first, and of each half those that may cost money for workers. */
export function unclaimedEndpoints(records: readonly EndpointRecord[], known: KnownEndpoints): UnclaimedEndpoint[] {
  return records
    .filter(({ id, appName }) => !known.endpointIDs.has(id) && !known.appNames.has(appName))
    .map((record) => ({ record, rank: (looksGenerated(record) ? 0 : 2) + (canRunWorkers(record) ? 0 : 1) }))
    .sort((a, b) => a.rank - b.rank || (a.record.name < b.record.name ? -1 : 1))
    .map(({ record }) => unclaimed(record));
}

function unclaimed(record: EndpointRecord): UnclaimedEndpoint {
  const { id, name, appName, status, scaling, workers, url, createdAt } = record;
  return {
    id,
    name,
    appName,
    status: status.error === "" ? status.status : `${status.status} (${status.error})`,
    workers: { min: scaling.min, max: scaling.max, total: workers.length },
    url,
    createdAt: createdAt === undefined ? undefined : rfc3339(createdAt * 1000),
    generated: looksGenerated(record),
  };
}
