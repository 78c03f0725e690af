import { describe, expect, it } from "vitest";
import { BILL_STATES, billReportAfter } from "../../../../support/golden/bills.ts";
import { contractBreach, kstatusOf, shown } from "../../../../support/kstatus.ts";

describe("a report", () => {
  it.each(BILL_STATES)("%s", (_name, before, outcome, conditions, verdict) => {
    const after = billReportAfter(before, outcome);
    expect(shown(after.status.conditions)).toEqual(conditions);
    expect(kstatusOf(after)).toBe(verdict);
    expect(contractBreach(after.status.conditions)).toBe("");
  });

  it("does not change when nothing did", () => {
    for (const [, before, outcome] of BILL_STATES) {
      const { status } = billReportAfter(before, outcome);
      expect(billReportAfter(status, outcome).status).toEqual(status);
    }
  });
});
