import { describe, expect, it } from "vitest";
import { type BillReportStatus, billReportSpecSchema } from "../../../../../src/api/v1alpha1/bill-report.ts";
import { dueTime, reportPeriod } from "../../../../../src/controllers/billing/report/period.ts";
import { timeZone } from "../../../../../src/provider/money/time-zone.ts";

const spec = billReportSpecSchema.parse({ period: "LastMonth" });
const DAY_MS = 86_400_000;
const unix = (time: string) => Date.parse(time) / 1000;
const periodAt = (time: string, zone = "UTC") => reportPeriod(spec, timeZone(zone), DAY_MS, Date.parse(time));

describe("period LastMonth", () => {
  it("is the calendar month before, and moves with the month", () => {
    expect(periodAt("2026-03-01T00:00:00Z")).toEqual({
      kind: "Over",
      range: { startTime: unix("2026-02-01T00:00:00Z"), endTime: unix("2026-03-01T00:00:00Z") },
      finalFrom: unix("2026-03-02T00:00:00Z"),
      movesAt: unix("2026-04-01T00:00:00Z"),
    });
  });

  it("is of the year before in January", () => {
    expect(periodAt("2027-01-15T00:00:00Z")).toMatchObject({
      range: { startTime: unix("2026-12-01T00:00:00Z"), endTime: unix("2027-01-01T00:00:00Z") },
    });
  });

  it("begins by the clock of the bills", () => {
    expect(periodAt("2026-02-28T20:00:00Z", "Asia/Shanghai")).toMatchObject({
      range: { startTime: unix("2026-01-31T16:00:00Z"), endTime: unix("2026-02-28T16:00:00Z") },
    });
  });

  it("has not begun before the first month of bills is over", () => {
    expect(periodAt("2026-01-20T00:00:00Z")).toEqual({ kind: "NotBegun", startTime: unix("2026-02-01T00:00:00Z") });
  });
});

describe("a report of the last month is read again", () => {
  const period = periodAt("2026-03-10T00:00:00Z");
  const due = (change: Partial<BillReportStatus>) => {
    if (!("range" in period)) throw new Error("no range");
    const status: BillReportStatus = {
      conditions: [],
      period: { startTime: "2026-02-01T00:00:00Z", endTime: "2026-03-01T00:00:00Z" },
      ...change,
    };
    const time = dueTime(status, period, 3_600_000);
    return time === undefined ? undefined : new Date(time).toISOString();
  };

  it.each([
    { name: "at once without a reading", change: {}, at: undefined },
    {
      name: "in an interval while bills may change",
      change: { asOf: "2026-03-01T12:00:00Z" },
      at: "2026-03-01T13:00:00.000Z",
    },
    {
      name: "next month when its bills are final",
      change: { asOf: "2026-03-02T00:00:00Z" },
      at: "2026-04-01T00:00:00.000Z",
    },
    {
      name: "at once after the month has moved",
      change: {
        asOf: "2026-02-20T00:00:00Z",
        period: { startTime: "2026-01-01T00:00:00Z", endTime: "2026-02-01T00:00:00Z" },
      },
      at: "2026-02-20T01:00:00.000Z",
    },
  ])("$name", ({ change, at }) => {
    expect(due(change)).toBe(at);
  });
});
