import { describe, expect, it } from "vitest";
import { getCondition } from "../../../../../src/api/v1alpha1/conditions.ts";
import { PENDING_STATUS } from "../../../../../src/api/v1alpha1/meta.ts";
import { BILL_STATES, billReportAfter, readBills } from "../../../../support/golden/bills.ts";
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

  it.each([
    [{ configMap: "bills" }, "9 bytes in ConfigMap bills"],
    [{ uri: "s3://bucket/bills.csv" }, "9 bytes in s3://bucket/bills.csv"],
  ])("says where its export is: %o", (place, message) => {
    const outcome = readBills([], { kind: "Written", export: { ...place, format: "CSV", bytes: 9 } });
    const { status } = billReportAfter(PENDING_STATUS, outcome);
    expect(getCondition(status.conditions, "Exported")?.message).toBe(message);
  });
});
