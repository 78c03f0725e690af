import type { Clock } from "../../clock.ts";
import type { ListEndpointsInput, ServiceClient } from "../client.ts";
import { ServiceError } from "../errors.ts";
import type { EndpointRecord } from "./endpoint-record.ts";

export type EndpointPagesOptions = {
  client: Pick<ServiceClient, "listEndpoints" | "listEndpointsEarlier">;
  generation: "Current" | "Earlier";
  pageSize: number;
  clock: Clock;
  /** Searches on the service's side; only the current generation can. */
  keyword?: string;
};

/** A record of a page, and when the page was asked for (monotonic ms). */
export type ListedEndpoint = { record: EndpointRecord; askedAt: number };

/** Every endpoint that the account's list shows, page by page. @throws ServiceError when a page cannot be read */
export async function* endpointPages(
  options: EndpointPagesOptions,
  signal: AbortSignal,
): AsyncIterable<ListedEndpoint> {
  if (options.generation === "Earlier") {
    yield* earlierPages(options, signal);
    return;
  }
  let cursor: string | undefined;
  do {
    const askedAt = options.clock.monotonic();
    const query: ListEndpointsInput = { limit: options.pageSize };
    if (options.keyword !== undefined) query.keyword = options.keyword;
    if (cursor !== undefined) query.cursor = cursor;
    const page = await options.client.listEndpoints(query, { signal });
    yield* page.data.map((record) => ({ record, askedAt }));
    const next = page.hasMore && page.nextCursor !== "" ? page.nextCursor : undefined;
    cursor = next === cursor ? undefined : next; // a cursor that stands still would be asked for ever
  } while (cursor !== undefined);
}

/**
 * Ends on the total, on a short page, or on a page that shows nothing new. The first page may be number 0 or 1 (not
 * shown): page 0 is asked for unless all of the total was seen without it.
 */
async function* earlierPages(options: EndpointPagesOptions, signal: AbortSignal): AsyncIterable<ListedEndpoint> {
  const { client, clock, pageSize } = options;
  const seen = new Set<string>();
  let total = Number.POSITIVE_INFINITY;
  const unseen = (records: EndpointRecord[]) => records.filter(({ id }) => !seen.has(id) && seen.add(id));
  for (let pageNum = 1; seen.size < total; pageNum++) {
    const askedAt = clock.monotonic();
    const page = await client.listEndpointsEarlier({ pageSize, pageNum }, { signal });
    total = page.total ?? Number.POSITIVE_INFINITY;
    const fresh = unseen(page.data);
    yield* fresh.map((record) => ({ record, askedAt }));
    if (page.data.length < pageSize || fresh.length === 0) break;
  }
  if (seen.size >= total) return;
  try {
    const askedAt = clock.monotonic();
    const { data } = await client.listEndpointsEarlier({ pageSize, pageNum: 0 }, { signal });
    yield* unseen(data).map((record) => ({ record, askedAt }));
  } catch (error) {
    if (!(error instanceof ServiceError) || error.kind !== "InvalidRequest") throw error; // pages are counted from 1
  }
}
