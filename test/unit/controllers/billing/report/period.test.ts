import { expect, it } from "vitest";
import { billReportSpecSchema } from "../../../../../src/api/v1alpha1/bill-report.ts";
import { reportPeriod } from "../../../../../src/controllers/billing/report/period.ts";
import { timeZone } from "../../../../../src/provider/money/time-zone.ts";

const unix = (time: string) => Date.parse(time) / 1000;

it("a period without an end includes the bills of the present second", () => {
  const spec = billReportSpecSchema.parse({ startTime: "2026-03-01T00:00:00Z" });

  const period = reportPeriod(spec, timeZone("UTC"), 0, Date.parse("2026-03-10T12:00:00.500Z"));

  const range = { startTime: unix("2026-03-01T00:00:00Z"), endTime: unix("2026-03-10T12:00:01Z") };
  expect(period).toEqual({ kind: "Open", range });
});
