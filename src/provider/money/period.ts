import type { BillQuery, BillReader } from "./bill-reader.ts";
import type { Bill } from "./money-records.ts";
import { type Range, splitPeriod } from "./ranges.ts";
import type { TimeZone } from "./time-zone.ts";

/** Which bills, and up to when they cannot change any more. */
export type BillsOfPeriod = {
  query: BillQuery;
  period: Range;
  zone: TimeZone;
  /** Unix seconds: bills of a range that ended by then do not change any more. */
  closedBefore: number;
  signal: AbortSignal;
};

export type PeriodOptions = BillsOfPeriod & { reader: BillReader };

/**
 * All bills of a period, range by range, each bill once. The interface does not say whether a query takes the bills that
 * begin in its range, those that overlap it, or also one that begins at its very end. All three come to the same here:
 * - a bill that begins at or after the end of its range belongs to the next one, or not to the period;
 * - one that begins before its range is left out when the range before showed the very same bill, and counted when it did
 *   not (two parts of one bill differ).
 */
export async function* billsOfPeriod(options: PeriodOptions): AsyncGenerator<Bill[]> {
  const { reader, query, period, zone, closedBefore, signal } = options;
  let before = new Set<string>();
  for (const range of splitPeriod(period, query.cycle, zone)) {
    const bills = await reader.read(query, range, { closed: range.endTime <= closedBefore, signal });
    const first = range.startTime === period.startTime;
    const atEnd = new Set<string>();
    const own: Bill[] = [];
    for (const bill of bills) {
      if ((bill.startTime ?? range.startTime) >= range.endTime) continue;
      const overlapsNext = (bill.endTime ?? range.endTime) >= range.endTime;
      const overlapsLast = !first && (bill.startTime ?? 0) < range.startTime;
      const id = overlapsNext || overlapsLast ? identity(bill) : "";
      if (overlapsNext) atEnd.add(id);
      if (!overlapsLast || !before.has(id)) own.push(bill);
    }
    before = atEnd;
    yield own;
  }
}

function identity(bill: Bill): string {
  return JSON.stringify(bill, (_key, value: unknown) => (typeof value === "bigint" ? String(value) : value));
}
