import { describe, expect, it } from "vitest";
import { ACCOUNT_STATES, accountAfter } from "../../../support/golden/accounts.ts";
import { contractBreach, kstatusOf, shown } from "../../../support/kstatus.ts";

describe("an account", () => {
  it.each(ACCOUNT_STATES)("%s", (_name, before, facts, conditions, verdict) => {
    const after = accountAfter(before, facts);
    expect(shown(after.status.conditions)).toEqual(conditions);
    expect(kstatusOf(after)).toBe(verdict);
    expect(contractBreach(after.status.conditions)).toBe("");
  });

  it("does not change when nothing did", () => {
    for (const [, before, facts] of ACCOUNT_STATES) {
      const { status } = accountAfter(before, facts);
      expect(accountAfter(status, facts).status).toEqual(status);
    }
  });
});
