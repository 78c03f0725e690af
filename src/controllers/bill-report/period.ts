import type { BillReportSpec } from "../../api/v1alpha1/bill-report.ts";
import { rfc3339 } from "../../clock.ts";
import { billsBegin, type Range } from "../../provider/money/ranges.ts";
import type { TimeZone } from "../../provider/money/time-zone.ts";

/** What of the period can be asked for now. */
export type ReportPeriod =
  | { kind: "Open"; range: Range }
  /** It has ended; its bills are final from `finalFrom` on, Unix seconds. */
  | { kind: "Over"; range: Range; finalFrom: number }
  | { kind: "NotBegun"; startTime: number }
  | { kind: "Refused"; message: string };

/** The period of a report at a time. Pure; times are Unix seconds but for `nowMs`. */
export function reportPeriod(spec: BillReportSpec, zone: TimeZone, settleMs: number, nowMs: number): ReportPeriod {
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

function seconds(time: string): number {
  return Math.floor(Date.parse(time) / 1000);
}
