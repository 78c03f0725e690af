import type { BillReportSpec, BillReportStatus } from "../../../api/v1alpha1/bill-report.ts";
import { isTrue } from "../../../api/v1alpha1/conditions.ts";
import { rfc3339 } from "../../../base/clock.ts";
import { billsBegin, type TimeRange } from "../../../provider/money/ranges.ts";
import type { TimeZone } from "../../../provider/money/time-zone.ts";
import { rememberDays } from "../split.ts";

/** The part of the period that can be read now. */
export type ReportPeriod =
  | { kind: "Open"; range: TimeRange }
  /**
   * It has ended; its bills are final from `finalFrom` on. `movesAt`: when the report gets another period; undefined: never.
   * Unix seconds.
   */
  | { kind: "Over"; range: TimeRange; finalFrom: number; movesAt?: number }
  | { kind: "NotBegun"; startTime: number }
  | { kind: "Refused"; message: string };

/** The period of a report at a time. Pure; times are Unix seconds but for `nowMs`. */
export function reportPeriod(spec: BillReportSpec, zone: TimeZone, settleMs: number, nowMs: number): ReportPeriod {
  if (spec.period === "LastMonth") return lastMonth(zone, settleMs, nowMs);
  const first = billsBegin(zone);
  // The bills of this second belong to the report.
  const now = Math.floor(nowMs / 1000) + 1;
  const wantedEnd = spec.endTime === undefined ? now : seconds(spec.endTime);
  const lastDay = zone.dayOf(wantedEnd - 1);
  const wantedStart =
    spec.startTime === undefined
      ? zone.startOf({ ...lastDay, day: lastDay.day - (spec.lastDays ?? 1) + 1 })
      : seconds(spec.startTime);
  const outside =
    spec.startTime === undefined || wantedStart >= first ? undefined : (["startTime", spec.startTime] as const);
  const [field, value] = outside ?? (wantedEnd > first ? [] : ["endTime", spec.endTime]);
  if (field !== undefined) {
    const bound = `${rfc3339(first * 1000)} (2026-01-01 00:00 in ${zone.name})`;
    return {
      kind: "Refused",
      message: `${field} is ${value}, allowed is ${bound} and later: the service has no bills of earlier times; change the period, or billing.timeZone of the account`,
    };
  }
  const startTime = Math.max(wantedStart, first);
  if (startTime >= now) return { kind: "NotBegun", startTime };
  const range = { startTime, endTime: Math.min(wantedEnd, now) };
  if (spec.endTime === undefined || wantedEnd > now) return { kind: "Open", range };
  return { kind: "Over", range, finalFrom: wantedEnd + settleMs / 1000 };
}

/**
 * When the bills are read again, ms since the epoch; undefined: now. A month whose bills are final is read again when the period
 * moves to the next month.
 * @param status of the report, as far as it answers the present spec
 */
export function dueTime(
  status: BillReportStatus | undefined,
  period: Extract<ReportPeriod, { range: TimeRange }>,
  intervalMs: number,
): number | undefined {
  if (status?.asOf === undefined) return undefined;
  const asOf = Date.parse(status.asOf);
  if (period.kind === "Open" || period.movesAt === undefined) return asOf + intervalMs;
  const same = Date.parse(status.period?.startTime ?? "") === period.range.startTime * 1000;
  const settled = same && asOf >= period.finalFrom * 1000 && !isTrue(status.conditions, "Stalled");
  return settled ? period.movesAt * 1000 : asOf + intervalMs;
}

/** Without bills of the month before, the report begins when the current month has ended. */
function lastMonth(zone: TimeZone, settleMs: number, nowMs: number): ReportPeriod {
  const today = zone.dayOf(Math.floor(nowMs / 1000));
  const startOf = (month: number) => zone.startOf({ ...today, month, day: 1 });
  const range = { startTime: startOf(today.month - 1), endTime: startOf(today.month) };
  const movesAt = startOf(today.month + 1);
  if (range.startTime < billsBegin(zone)) return { kind: "NotBegun", startTime: movesAt };
  return { kind: "Over", range, finalFrom: range.endTime + settleMs / 1000, movesAt };
}

function seconds(time: string): number {
  return Math.floor(Date.parse(time) / 1000);
}

/**
 * The day of a bill by the start of its period (Unix seconds), as 2026-11-22. A bill that begins outside the range counts at the nearest
 * day of the range.
 */
export function datesIn(zone: TimeZone, { startTime, endTime }: TimeRange): (unixSeconds: number) => string {
  const dayOf = rememberDays(zone);
  return (unixSeconds) => dayOf(Math.min(Math.max(unixSeconds, startTime), endTime - 1));
}
