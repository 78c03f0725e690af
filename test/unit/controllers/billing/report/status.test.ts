import { describe, expect, it } from "vitest";
import { BILL_STATES, billReportAfter } from "../../../../support/golden/bills.ts";
import { contractBreach, shows } from "../../../../support/kstatus.ts";

describe("a report", () => {
  it.each(BILL_STATES)("%s", (_name, before, outcome, expected) => {
    const after = billReportAfter(before, outcome);
    expect(shows(after)).toBe(expected);
    expect(contractBreach(after.status.conditions)).toBe("");
  });

  it("does not change when nothing did", () => {
    for (const [, before, outcome] of BILL_STATES) {
      const { status } = billReportAfter(before, outcome);
      expect(billReportAfter(status, outcome).status).toEqual(status);
    }
  });
});
