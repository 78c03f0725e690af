import { daysSinceMonday, type TimeZone } from "./time-zone.ts";

/** Unix seconds; the end does not belong to it. */
export type Range = { startTime: number; endTime: number };

export type Cycle = "Day" | "Week" | "Month";

/** The longest range that the interface advises for one query. */
const MAX_RANGE_SECONDS = 31 * 86_400;
const WEEKS_AT_ONCE = 4;

/** From when on bills exist (interface: "Only data after 2026-01-01 00:00:00 can be queried"), by the account's clock. */
export function billsBegin(zone: TimeZone): number {
  return zone.startOf({ year: 2026, month: 1, day: 1 });
}

/**
 * The ranges to ask for one after the other (interface: "longer ranges are to be split by calendar month or week"): all of
 * the period without a gap or an overlap. One of at most 31 days stays whole. A longer one is cut where months begin; with
 * cycle Week every four weeks on a Monday, so that no cut goes through a week's bill.
 */
export function splitPeriod(period: Range, cycle: Cycle, zone: TimeZone): Range[] {
  const { startTime, endTime } = period;
  if (endTime <= startTime) return [];
  if (endTime - startTime <= MAX_RANGE_SECONDS) return [period];
  const cuts = cycle === "Week" ? mondays(startTime, zone) : months(startTime, zone);
  const ranges: Range[] = [];
  let from = startTime;
  for (const cut of cuts) {
    if (cut >= endTime) break;
    ranges.push({ startTime: from, endTime: cut });
    from = cut;
  }
  return [...ranges, { startTime: from, endTime }];
}

function* months(after: number, zone: TimeZone): Generator<number> {
  const { year, month } = zone.dayOf(after);
  for (let next = month + 1; ; next++) yield zone.startOf({ year, month: next, day: 1 });
}

function* mondays(after: number, zone: TimeZone): Generator<number> {
  const start = zone.dayOf(after);
  const monday = start.day - daysSinceMonday(start);
  for (let weeks = WEEKS_AT_ONCE; ; weeks += WEEKS_AT_ONCE) yield zone.startOf({ ...start, day: monday + weeks * 7 });
}

/** When the day, the week (from Monday) and the calendar month of a time began. */
export function currentPeriods(time: number, zone: TimeZone): { day: number; week: number; month: number } {
  const today = zone.dayOf(time);
  return {
    day: zone.startOf(today),
    week: zone.startOf({ ...today, day: today.day - daysSinceMonday(today) }),
    month: zone.startOf({ ...today, day: 1 }),
  };
}
