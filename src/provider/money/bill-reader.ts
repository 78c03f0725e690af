import { promisify } from "node:util";
import { deserialize, serialize } from "node:v8";
import { deflate, deflateSync, inflate, inflateSync } from "node:zlib";
import { type Clock, rfc3339, systemClock } from "../../base/clock.ts";
import type { ServiceClient } from "../client.ts";
import { ServiceError } from "../errors.ts";
import { OPERATIONS } from "../operations.ts";
import { MOST_BILLS } from "../wire/bounds.ts";
import type { Bill } from "./money-records.ts";
import type { Cycle, TimeRange } from "./ranges.ts";

export type BillQuery = { cycle: Cycle; category?: string | undefined; productName?: string | undefined };

/** The bills of one account. Runs one query at a time, and reads a range that cannot change any more only once. */
export type BillReader = {
  /**
   * The bills of a range as the service lists them. A `closed` range is read once, however many callers ask.
   * @throws BillsTooLargeError, ServiceError, or the signal's reason
   */
  read(query: BillQuery, range: TimeRange, options: { closed: boolean; signal: AbortSignal }): Promise<Bill[]>;
};

/**
 * The range has more bills than one answer can have. It is not asked for again for six hours: the service sends the whole
 * answer each time.
 */
export class BillsTooLargeError extends Error {
  override readonly name = "BillsTooLargeError";
  constructor({ startTime, endTime }: TimeRange, cause: unknown) {
    const time = (seconds: number) => rfc3339(seconds * 1000);
    const limits = `${OPERATIONS.listBills.maxResponseBytes} bytes or ${MOST_BILLS} bills`;
    const advice =
      "use cycle Day, or narrow the report by category or productName; a budget can use memberID instead of monthlyLimit";
    super(`the bills of ${time(startTime)} to ${time(endTime)} are more than ${limits}: ${advice}`, { cause });
  }
}

export type BillReaderOptions = {
  client: Pick<ServiceClient, "listBills">;
  /** Default: the system's. */
  clock?: Pick<Clock, "monotonic">;
  /** Memory for closed ranges, compressed; the least recently read are dropped first. Default 32 MiB. */
  maxKeptBytes?: number;
};

const KEPT_BYTES = 32 * 1024 * 1024;
const ASK_AGAIN_MS = 6 * 3_600_000;
/** Most ranges that are remembered as too large: a year of days. */
const MOST_LARGE = 400;

/** What takes a few milliseconds at most: some hundred bills. More goes to a thread. */
const SMALL_BYTES = 256 * 1024;
const SMALL_PACKED_BYTES = 32 * 1024;
const squeezeLarge = promisify(deflate);
const expandLarge = promisify(inflate);
const squeeze = async (bytes: Buffer) => (bytes.length <= SMALL_BYTES ? deflateSync(bytes) : await squeezeLarge(bytes));
const expand = async (packed: Buffer) =>
  packed.length <= SMALL_PACKED_BYTES ? inflateSync(packed) : await expandLarge(packed);

export function createBillReader(options: BillReaderOptions): BillReader {
  const { client, clock = systemClock, maxKeptBytes = KEPT_BYTES } = options;
  /** The shortest range that was too large, by query and start. */
  const tooLarge = new Map<string, { error: BillsTooLargeError; endTime: number; at: number }>();
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
        const start = JSON.stringify([cycle, category, productName, range.startTime]);
        const known = tooLarge.get(start);
        if (known !== undefined && range.endTime >= known.endTime && clock.monotonic() - known.at < ASK_AGAIN_MS) {
          throw new BillsTooLargeError(range, known.error.cause);
        }
        const bills = await client.listBills(query, { signal, lane: "routine" }).catch((cause: unknown) => {
          if (!(cause instanceof ServiceError) || cause.tooLarge !== true) throw cause;
          const error = new BillsTooLargeError(range, cause);
          tooLarge.delete(start);
          tooLarge.set(start, { error, endTime: range.endTime, at: clock.monotonic() });
          for (const oldest of tooLarge.keys()) if (tooLarge.size > MOST_LARGE) tooLarge.delete(oldest);
          throw error;
        });
        if (closed) keep(id, await squeeze(serialize(bills)));
        return bills;
      }),
  };
}
