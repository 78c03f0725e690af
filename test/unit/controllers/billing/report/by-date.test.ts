import { describe, expect, it } from "vitest";
import { DATE_ROWS } from "../../../../../src/api/v1alpha1/bill-report.ts";
import { datesIn } from "../../../../../src/controllers/billing/report/period.ts";
import { createTally } from "../../../../../src/provider/money/tally.ts";
import { timeZone } from "../../../../../src/provider/money/time-zone.ts";
import { billOf, seconds } from "../../../../support/bills.ts";
import { billReportAfter } from "../../../../support/golden/bills.ts";

const range = { startTime: seconds("2026-03-01T00:00:00+08:00"), endTime: seconds("2026-04-01T00:00:00+08:00") };
const shanghai = timeZone("Asia/Shanghai");

function reportOf(bills: { startTime: string; amount: string }[], of = range) {
  const tally = createTally(datesIn(shanghai, of));
  for (const bill of bills) tally.add(billOf({ ...bill, voucherAmount: "0", payAmount: bill.amount }));
  const outcome = { kind: "Read", range: of, tally, final: false, exported: { kind: "NotWanted" } } as const;
  return billReportAfter(undefined, outcome).status;
}
const at = (time: string) => String(seconds(time));

describe("the cost by date", () => {
  it("is that of each day in the account's time zone, oldest first", () => {
    const { byDate } = reportOf([
      { startTime: at("2026-03-03T00:00:00+08:00"), amount: "20000" },
      { startTime: at("2026-03-01T15:59:59Z"), amount: "10000" },
      { startTime: at("2026-03-01T16:00:00Z"), amount: "5000" },
      { startTime: at("2026-03-03T23:00:00+08:00"), amount: "1" },
    ]);
    expect(byDate?.map(({ date, amount, records }) => ({ date, amount, records }))).toEqual([
      { date: "2026-03-01", amount: "1", records: 1 },
      { date: "2026-03-02", amount: "0.5", records: 1 },
      { date: "2026-03-03", amount: "2.0001", records: 2 },
    ]);
  });

  it("counts what begins outside the period at its nearest day, so that the rows add up to the total", () => {
    const { byDate, totals } = reportOf([
      { startTime: at("2026-02-23T00:00:00+08:00"), amount: "10000" },
      { startTime: at("2026-05-09T00:00:00Z"), amount: "30000" },
    ]);
    expect(byDate?.map(({ date, amount }) => [date, amount])).toEqual([
      ["2026-03-01", "1"],
      ["2026-03-31", "3"],
    ]);
    expect(totals?.amount).toBe("4");
  });

  it("has a bounded number of rows: the last ones", () => {
    const year = { startTime: range.startTime, endTime: range.startTime + 365 * 86_400 };
    const days = Array.from({ length: 365 }, (_, day) => String(year.startTime + day * 86_400));
    const { byDate = [] } = reportOf(
      days.map((startTime) => ({ startTime, amount: "1" })),
      year,
    );
    expect(byDate).toHaveLength(DATE_ROWS);
    expect(byDate.at(-1)?.date).toBe("2027-02-28");
  });

  it("is absent without bills", () => {
    expect(reportOf([])).not.toHaveProperty("byDate");
  });
});
