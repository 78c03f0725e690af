import { type Clock, delay } from "../../base/clock.ts";
import type { ListEndpointsInput, ServiceClient } from "../client.ts";
import { ServiceError, type ServiceErrorKind } from "../errors.ts";
import type { Operation } from "../operations.ts";
import { type EndpointRecord, weightOf } from "./endpoint-record.ts";

/** The two generations of the interface in which endpoints are listed and read (interface: Versioning). */
export type Generation = "Current" | "Earlier";

export type EndpointPagesOptions = {
  client: Pick<ServiceClient, "listEndpoints" | "listEndpointsEarlier">;
  generation: Generation;
  pageSize: number;
  clock: Clock;
  /** The service searches for it; the earlier generation has no search and ignores it. */
  keyword?: string;
  /** A record that is known already: it is listed again while the service shows the same bytes. Default: none. */
  known?: (id: string) => EndpointRecord | undefined;
  /** How many endpoints the list has at least: its limits grow with them. Default 0. */
  expected?: number;
};

/** Limits of a whole list: a service whose pages never end must not fill the memory. */
const LIST = { pages: 2_000, records: 50_000, weight: 32 * 1024 * 1024 };
/** What each expected endpoint adds to these limits. */
export const EXPECTED = { pages: 2, records: 2, weight: 4 * 1024 };

/** A record of a page, and when the page was requested (monotonic ms). */
export type ListedEndpoint = { record: EndpointRecord; askedAt: number };

/**
 * Every endpoint of the account's list, page by page. A page that fails is repeated, and the list continues with the next one.
 * @throws ServiceError when a page cannot be read, or the pages have no end: such a list proves no absence
 */
export async function* endpointPages(
  options: EndpointPagesOptions,
  signal: AbortSignal,
): AsyncIterable<ListedEndpoint> {
  const operation = options.generation === "Earlier" ? "listEndpointsEarlier" : "listEndpoints";
  const size = createListSize(operation, options.expected ?? 0);
  const read = createPageReader(options.clock, size, signal);
  yield* options.generation === "Earlier" ? earlierPages(options, read, signal) : currentPages(options, read, signal);
}

/** A page that was read, and when it was requested (monotonic ms). */
type ReadPage = <P extends { data: EndpointRecord[] }>(ask: () => Promise<P>) => Promise<{ page: P; askedAt: number }>;

/** How often a page is repeated, and the pauses: doubled each time. */
const REPEATS = 5;
const FIRST_REPEAT_MS = 500;
/** Failures that may pass. The gate paces a repetition after a 429. */
const PASSING: readonly ServiceErrorKind[] = [
  "RateLimited",
  "ServerError",
  "GatewayError",
  "Unreachable",
  "Timeout",
  "ConnectionLost",
];

/** Repeats a page that fails, so that a list of many pages continues. Without the first page, there is nothing to continue. */
function createPageReader(clock: Clock, size: { add(page: readonly EndpointRecord[]): void }, signal: AbortSignal) {
  let begun = false;
  const read: ReadPage = async (ask) => {
    for (let repeats = 0; ; repeats++) {
      const askedAt = clock.monotonic();
      try {
        const page = await ask();
        begun = true;
        size.add(page.data);
        return { page, askedAt };
      } catch (error) {
        const passes = error instanceof ServiceError && PASSING.includes(error.kind);
        if (!begun || !passes || repeats === REPEATS) throw error;
      }
      await delay(clock, FIRST_REPEAT_MS * 2 ** repeats, signal);
      signal.throwIfAborted();
    }
  };
  return read;
}

/** Adds up the pages of one list. @throws ServiceError when the list exceeds a limit */
function createListSize(operation: Operation, expected: number): { add(page: readonly EndpointRecord[]): void } {
  const size = { pages: 0, records: 0, weight: 0 };
  const most = {
    pages: LIST.pages + EXPECTED.pages * expected,
    records: LIST.records + EXPECTED.records * expected,
    weight: LIST.weight + EXPECTED.weight * expected,
  };
  return {
    add(page) {
      size.pages += 1;
      size.records += page.length;
      for (const record of page) size.weight += weightOf(record);
      if (size.pages > most.pages) throw incomplete(`it has more than ${most.pages} pages`, operation);
      if (size.records > most.records) throw incomplete(`it has more than ${most.records} endpoints`, operation);
      if (size.weight > most.weight) throw incomplete(`its endpoints take more than ${most.weight} bytes`, operation);
    },
  };
}

async function* currentPages(
  options: EndpointPagesOptions,
  read: ReadPage,
  signal: AbortSignal,
): AsyncIterable<ListedEndpoint> {
  let cursor: string | undefined;
  const cursors = new Set<string>();
  do {
    const query: ListEndpointsInput = { limit: options.pageSize };
    if (options.keyword !== undefined) query.keyword = options.keyword;
    if (cursor !== undefined) query.cursor = cursor;
    const { page, askedAt } = await read(() => options.client.listEndpoints(query, { signal, known: options.known }));
    yield* page.data.map((record) => ({ record, askedAt }));
    cursor = page.hasMore ? page.nextCursor : undefined;
    if (cursor === "") throw incomplete("more pages follow, and the response has no cursor for them");
    if (cursor !== undefined && cursors.size === cursors.add(cursor).size) throw incomplete("a cursor repeats");
  } while (cursor !== undefined);
}

/**
 * Ends at a page without a new endpoint, or at the total. The interface does not show whether `total` counts all endpoints or
 * those of the page, nor whether the service makes pages shorter than asked for: the total counts all when it is not the number of
 * endpoints on its page, and a short page ends nothing.
 *
 * The interface does not show whether the first page is number 0 or 1: page 0 is read too, unless the other pages show the whole
 * total. It does not show either whether a page behind the last one is empty or refused: a refusal ends the pages, unless the total
 * shows that some are missing.
 */
async function* earlierPages(
  { client, clock, pageSize, known }: EndpointPagesOptions,
  read: ReadPage,
  signal: AbortSignal,
): AsyncIterable<ListedEndpoint> {
  const seen = new Set<string>();
  const unseen = (records: EndpointRecord[]) => records.filter(({ id }) => !seen.has(id) && seen.add(id));
  const ask = async (pageNum: number) => {
    const refused = { askedAt: clock.monotonic() };
    const page = await pageOrRefusal(read(() => client.listEndpointsEarlier({ pageSize, pageNum }, { signal, known })));
    return page instanceof ServiceError ? { ...refused, page } : page;
  };
  let total: number | undefined;
  let countsAll = false;
  let refusal: ServiceError | undefined;

  for (let pageNum = 1; ; pageNum++) {
    const { page, askedAt } = await ask(pageNum);
    if (page instanceof ServiceError) {
      refusal = page;
      break;
    }
    total = page.total;
    countsAll ||= total !== undefined && total !== page.data.length;
    const fresh = unseen(page.data);
    yield* fresh.map((record) => ({ record, askedAt }));
    if (countsAll && seen.size === total) return;
    if (fresh.length === 0) break;
  }

  const { page: first, askedAt } = await ask(0);
  if (first instanceof ServiceError) {
    // The first page is number 1. Nothing is read, or some endpoints are missing.
    const missing = countsAll && total !== undefined && seen.size < total;
    if (refusal !== undefined && (seen.size === 0 || missing)) throw refusal;
    return;
  }
  yield* unseen(first.data).map((record) => ({ record, askedAt }));
  if (refusal !== undefined && first.total !== undefined && seen.size < first.total) throw refusal;
}

/** A page that the service refuses as invalid is a value: its number can be before the first or behind the last page. */
async function pageOrRefusal<T>(page: Promise<T>): Promise<T | ServiceError> {
  try {
    return await page;
  } catch (error) {
    if (error instanceof ServiceError && error.kind === "InvalidRequest") return error;
    throw error;
  }
}

export function incomplete(why: string, operation: Operation = "listEndpoints"): ServiceError {
  const message = `the list of endpoints is incomplete: ${why}`;
  return new ServiceError({ operation, kind: "UnreadableResponse", delivery: "Refused", message });
}
