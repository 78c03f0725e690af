import { describe, expect, it } from "vitest";
import { STORE_STATES, storeAfter } from "../../../support/golden/stores.ts";
import { contractBreach, shows } from "../../../support/kstatus.ts";

describe("a store", () => {
  it.each(STORE_STATES)("%s", (_name, before, outcome, expected) => {
    const after = storeAfter(before, outcome);
    expect(shows(after)).toBe(expected);
    expect(contractBreach(after.status.conditions)).toBe("");
  });

  it("does not change when nothing did", () => {
    for (const [, before, outcome] of STORE_STATES) {
      const { status } = storeAfter(before, outcome);
      expect(storeAfter(status, outcome).status).toEqual(status);
    }
  });
});
