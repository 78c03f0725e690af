import { describe, expect, it } from "vitest";
import { ACCOUNT_STATES, accountAfter } from "../../../support/golden/accounts.ts";
import { contractBreach, shows } from "../../../support/kstatus.ts";

describe("an account", () => {
  it.each(ACCOUNT_STATES)("%s", (_name, before, facts, expected) => {
    const after = accountAfter(before, facts);
    expect(shows(after)).toBe(expected);
    expect(contractBreach(after.status.conditions)).toBe("");
  });

  it("does not change when nothing did", () => {
    for (const [, before, facts] of ACCOUNT_STATES) {
      const { status } = accountAfter(before, facts);
      expect(accountAfter(status, facts).status).toEqual(status);
    }
  });
});
