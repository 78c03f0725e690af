import { type BillQuery, type BillReader, BillsTooLargeError } from "./bill-reader.ts";
import type { Bill } from "./money-records.ts";
import { billsBegin, finerRanges, LONGEST_SECONDS, splitPeriod, type TimeRange } from "./ranges.ts";
import type { TimeZone } from "./time-zone.ts";

/** Which bills, and up to when they cannot change any more. */
export type BillsOfPeriod = {
  query: BillQuery;
  period: TimeRange;
  zone: TimeZone;
  /** Unix seconds: bills of a range that ended by then do not change any more. */
  closedBefore: number;
  signal: AbortSignal;
};

export type PeriodOptions = BillsOfPeriod & { reader: BillReader };

/**
 * All bills that begin in a period, each once: a bill belongs to the period in which it begins, for reports, budgets and
 * showback alike. A range whose bills are too many for one answer is read in parts.
 *
 * The interface does not say whether a query takes the bills that begin in its range, those that overlap it, or also one
 * that begins at its very end, and whether it cuts bills at the range. All come to the same here:
 * - A bill that begins outside the period is left out.
 * - One that begins before its range is left out when the range before showed the very same bill, and counted when it did
 *   not (two parts of one bill differ).
 * - When a bill ends after a period that is closed, the time after the period is read too, for its other part.
 * @throws BillsTooLargeError, ServiceError, or the signal's reason
 */
export async function* billsOfPeriod(options: PeriodOptions): AsyncGenerator<Bill[]> {
  const { period, zone } = options;
  const first = billsBegin(zone);
  let before = new Set<string>();
  for await (const { range, bills } of rangesOf(options)) {
    const end = Math.min(range.endTime, period.endTime);
    const atEnd = new Set<string>();
    const own: Bill[] = [];
    for (const bill of bills) {
      // No period before the first bills can be asked for: the week that they are in begins with them.
      const start = Math.max(bill.startTime ?? range.startTime, first);
      if (start < period.startTime || start >= end) continue;
      const overlapsNext = (bill.endTime ?? range.endTime) >= range.endTime;
      const overlapsLast = start < range.startTime;
      const id = overlapsNext || overlapsLast ? identity(bill) : "";
      if (overlapsNext) atEnd.add(id);
      if (!overlapsLast || !before.has(id)) own.push(bill);
    }
    before = atEnd;
    yield own;
  }
}

type RangeBills = { range: TimeRange; bills: Bill[] };

/** The period range by range, and the time after it when a bill goes on there. */
async function* rangesOf(options: PeriodOptions): AsyncGenerator<RangeBills> {
  const { query, period, zone, closedBefore } = options;
  let goesOn = false;
  for (const range of splitPeriod(period, query.cycle, zone)) {
    for await (const part of readParts(options, range)) {
      goesOn = part.bills.some(({ endTime = 0 }) => endTime > period.endTime);
      yield part;
    }
  }
  if (!goesOn || period.endTime > closedBefore) return;
  const after = { startTime: period.endTime, endTime: period.endTime + LONGEST_SECONDS[query.cycle] };
  yield* readParts(options, after);
}

/** A range as a whole, or in finer ones when its bills are too many for one answer. */
async function* readParts(options: PeriodOptions, range: TimeRange): AsyncGenerator<RangeBills> {
  const { reader, query, zone, closedBefore, signal } = options;
  let bills: Bill[];
  try {
    bills = await reader.read(query, range, { closed: range.endTime <= closedBefore, signal });
  } catch (error) {
    if (!(error instanceof BillsTooLargeError)) throw error;
    const finer = finerRanges(range, query.cycle, zone);
    if (finer.length < 2) throw error;
    for (const part of finer) yield* readParts(options, part);
    return;
  }
  yield { range, bills };
}

function identity(bill: Bill): string {
  return JSON.stringify(bill, (_key, value: unknown) => (typeof value === "bigint" ? String(value) : value));
}
