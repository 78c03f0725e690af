import { type Clock, systemClock } from "../../clock.ts";
import type { ServiceClient } from "../../provider/client.ts";
import { type EndpointRecord, withDetails } from "../../provider/endpoints/endpoint-record.ts";
import { endpointPages } from "../../provider/endpoints/pages.ts";
import { ServiceError } from "../../provider/errors.ts";

export type GatherOptions = {
  client: ServiceClient;
  generation: "Current" | "Earlier";
  /** Only these, read one by one; undefined lists. */
  ids?: readonly string[];
  keyword?: string;
  /** Whether the earlier generation completes what the current one shows. Default true. */
  completed?: boolean;
  clock?: Clock;
};

export type Gathered = {
  records: EndpointRecord[];
  /** Why something that only the earlier generation shows is missing. */
  warning: string | undefined;
};

const PAGE_SIZE = 100;

/**
 * Endpoints as both generations show them: in generation Current, the earlier one adds the cluster of the storage and all
 * products. Where it cannot be read, the endpoints come without.
 * @throws ServiceError; Error when one of `ids` does not exist
 */
export async function gatherEndpoints(options: GatherOptions): Promise<Gathered> {
  const { generation } = options;
  const records = options.ids === undefined ? await listed(options, generation) : await single(options, options.ids);
  if (options.completed === false || generation === "Earlier" || records.length === 0)
    return { records, warning: undefined };
  try {
    const earlier =
      options.ids === undefined
        ? await listed({ ...options, keyword: "" }, "Earlier")
        : await Promise.all(options.ids.map((id) => options.client.getEndpointEarlier({ id })));
    const byID = new Map(earlier.map((record) => [record.id, record]));
    return {
      records: records.map((record) => {
        const more = byID.get(record.id);
        return more === undefined ? record : withDetails(record, more);
      }),
      warning: undefined,
    };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const warning = `the earlier generation cannot be read, so clusterID and further products are not known: ${error.message}`;
    return { records, warning };
  }
}

async function listed(options: GatherOptions, generation: "Current" | "Earlier"): Promise<EndpointRecord[]> {
  const { client, keyword = "", clock = systemClock } = options;
  const records = new Map<string, EndpointRecord>();
  const query = { client, generation, pageSize: PAGE_SIZE, clock, ...(keyword === "" ? {} : { keyword }) };
  for await (const { record } of endpointPages(query, new AbortController().signal)) {
    // The earlier generation cannot search.
    if (generation === "Current" || matches(record, keyword)) records.set(record.id, record);
  }
  return [...records.values()];
}

function matches({ id, name, appName }: EndpointRecord, keyword: string): boolean {
  return [id, name, appName].some((text) => text.includes(keyword));
}

async function single({ client, generation }: GatherOptions, ids: readonly string[]): Promise<EndpointRecord[]> {
  return Promise.all(
    [...new Set(ids)].map(async (id) => {
      try {
        return await (generation === "Earlier"
          ? client.getEndpointEarlier({ id })
          : client.getEndpoint({ endpointID: id }));
      } catch (error) {
        if (!(error instanceof ServiceError) || error.kind !== "NotFound") throw error;
        throw new Error(`endpoint ${id} does not exist in this account: see \`mooring orphans\` for those that do`);
      }
    }),
  );
}
