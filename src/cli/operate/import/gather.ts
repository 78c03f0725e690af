import type { EndpointRecord } from "../../../provider/endpoints/endpoint-record.ts";
import { ServiceError } from "../../../provider/errors.ts";
import type { Endpoints } from "../../../provider/types.ts";

export type GatherOptions = {
  endpoints: Endpoints;
  /** Only these, read one by one; undefined lists all. */
  ids?: readonly string[];
  /** Only endpoints that the service finds by it; "" lists all. */
  keyword: string;
  signal: AbortSignal;
};

export type Gathered = {
  records: EndpointRecord[];
  /** Why fields that only a complete read shows are missing. */
  warning: string | undefined;
};

/**
 * The account's endpoints with all that the service can show. When the complete read fails, the endpoints come without it.
 * @throws ServiceError; Error when one of `ids` does not exist
 */
export async function gatherEndpoints({ endpoints, ids, keyword, signal }: GatherOptions): Promise<Gathered> {
  const records = ids === undefined ? await endpoints.list(keyword, signal) : await readAll(endpoints, ids, signal);
  try {
    const completed =
      ids === undefined
        ? await endpoints.completeAll(records, signal)
        : await Promise.all(records.map((record) => endpoints.complete(record, "Now", signal)));
    return { records: completed, warning: undefined };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return { records, warning: `clusterID and further products cannot be read: ${error.message}` };
  }
}

async function readAll(endpoints: Endpoints, ids: readonly string[], signal: AbortSignal): Promise<EndpointRecord[]> {
  return Promise.all(
    [...new Set(ids)].map(async (id) => {
      const record = await endpoints.read(id, signal);
      if (record !== undefined) return record;
      throw new Error(`endpoint ${id} does not exist in this account: see \`mooring orphans\` for those that do`);
    }),
  );
}
