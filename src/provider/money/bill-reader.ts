import { promisify } from "node:util";
import { deserialize, serialize } from "node:v8";
import { deflate, inflate } from "node:zlib";
import type { ServiceClient } from "../client.ts";
import type { Bill } from "./money-records.ts";
import type { Cycle, Range } from "./ranges.ts";

export type BillQuery = { cycle: Cycle; category?: string | undefined; productName?: string | undefined };

/** The bills of one account. Runs one query at a time, and reads a range that cannot change any more only once. */
export type BillReader = {
  /**
   * The bills of a range as the service lists them. A `closed` range is read once, however many callers ask.
   * @throws ServiceError, or the signal's reason
   */
  read(query: BillQuery, range: Range, options: { closed: boolean; signal: AbortSignal }): Promise<Bill[]>;
};

export type BillReaderOptions = {
  client: Pick<ServiceClient, "listBills">;
  /** Memory for closed ranges, compressed; the least recently read are dropped first. Default 32 MiB. */
  maxKeptBytes?: number;
};

const KEPT_BYTES = 32 * 1024 * 1024;
/** Every other call that waits for the rate limit goes first. */
const PRIORITY = -1;

const squeeze = promisify(deflate);
const expand = promisify(inflate);

export function createBillReader({ client, maxKeptBytes = KEPT_BYTES }: BillReaderOptions): BillReader {
  /** In the order of their last read. */
  const kept = new Map<string, Buffer>();
  let keptBytes = 0;
  let last: Promise<unknown> = Promise.resolve();

  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = last.then(work);
    last = result.catch(() => undefined); // the caller of `result` gets the error
    return result;
  }

  function keep(id: string, packed: Buffer): void {
    keptBytes += packed.length - (kept.get(id)?.length ?? 0);
    kept.delete(id);
    kept.set(id, packed);
    for (const [oldest, { length }] of kept) {
      if (keptBytes <= maxKeptBytes) break;
      kept.delete(oldest);
      keptBytes -= length;
    }
  }

  return {
    read: ({ cycle, category, productName }, range, { closed, signal }) =>
      inTurn(async () => {
        signal.throwIfAborted();
        const id = JSON.stringify([cycle, category, productName, range.startTime, range.endTime]);
        const packed = closed ? kept.get(id) : undefined;
        if (packed !== undefined) {
          keep(id, packed);
          return deserialize(await expand(packed)) as Bill[];
        }
        const query = {
          cycleType: cycle,
          ...range,
          ...(category === undefined ? {} : { category }),
          ...(productName === undefined ? {} : { productName }),
        };
        const bills = await client.listBills(query, { signal, priority: PRIORITY });
        if (closed) keep(id, await squeeze(serialize(bills)));
        return bills;
      }),
  };
}
