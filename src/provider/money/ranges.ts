import { daysSinceMonday, type TimeZone } from "./time-zone.ts";

/** Unix seconds; the end does not belong to it. */
export type TimeRange = { startTime: number; endTime: number };

export type Cycle = "Day" | "Week" | "Month";

/** The longest range that the interface advises for one query. */
const DAY_SECONDS = 86_400;
const MAX_RANGE_SECONDS = 31 * DAY_SECONDS;
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
export function splitPeriod(period: TimeRange, cycle: Cycle, zone: TimeZone): TimeRange[] {
  const { startTime, endTime } = period;
  if (endTime <= startTime) return [];
  if (endTime - startTime <= MAX_RANGE_SECONDS) return [period];
  return cutAt(period, cycle === "Week" ? mondays(startTime, zone, WEEKS_AT_ONCE) : months(startTime, zone));
}

function cutAt({ startTime, endTime }: TimeRange, cuts: Iterable<number>): TimeRange[] {
  const ranges: TimeRange[] = [];
  let from = startTime;
  for (const cut of cuts) {
    if (cut >= endTime) break;
    ranges.push({ startTime: from, endTime: cut });
    from = cut;
  }
  return [...ranges, { startTime: from, endTime }];
}

/** The longest bill of a cycle. */
export const LONGEST_SECONDS: Record<Cycle, number> = {
  Day: DAY_SECONDS,
  Week: 7 * DAY_SECONDS,
  Month: 31 * DAY_SECONDS,
};

/**
 * A range in parts, for a service that has more bills of it than one answer can have: days, and then hours, for cycle Day;
 * weeks for cycle Week. Bills of a longer cycle are not cut. One part: it cannot be split.
 */
export function finerRanges(range: TimeRange, cycle: Cycle, zone: TimeZone): TimeRange[] {
  if (cycle === "Month") return [range];
  return cutAt(range, cycle === "Week" ? mondays(range.startTime, zone, 1) : daysOrHours(range, zone));
}

function daysOrHours({ startTime, endTime }: TimeRange, zone: TimeZone): Generator<number> {
  const { day, ...month } = zone.dayOf(startTime);
  const tomorrow = zone.startOf({ ...month, day: day + 1 });
  return endTime > tomorrow ? days(startTime, zone) : hours(startTime);
}

function* days(after: number, zone: TimeZone): Generator<number> {
  const { day, ...month } = zone.dayOf(after);
  for (let next = day + 1; ; next++) yield zone.startOf({ ...month, day: next });
}

function* hours(after: number): Generator<number> {
  for (let next = Math.floor(after / 3_600 + 1) * 3_600; ; next += 3_600) yield next;
}

function* months(after: number, zone: TimeZone): Generator<number> {
  const { year, month } = zone.dayOf(after);
  for (let next = month + 1; ; next++) yield zone.startOf({ year, month: next, day: 1 });
}

/** @param step how many weeks */
function* mondays(after: number, zone: TimeZone, step: number): Generator<number> {
  const start = zone.dayOf(after);
  const monday = start.day - daysSinceMonday(start);
  for (let weeks = step; ; weeks += step) yield zone.startOf({ ...start, day: monday + weeks * 7 });
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
