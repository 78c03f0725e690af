import { describe, expect, it } from "vitest";
import { type ClusterAccount, clusterAccountSpecSchema } from "../../../../src/api/v1alpha1/account.ts";
import { accountStatus } from "../../../../src/controllers/account/status.ts";
import { readPrices } from "../../../../src/controllers/billing/prices.ts";
import { START } from "../../../support/fake-clock.ts";
import { ACCOUNT_STATES, accountAfter, probe } from "../../../support/golden/accounts.ts";
import { contractBreach, shows } from "../../../support/kstatus.ts";
import { manifest } from "../../../support/manifests.ts";
import { storedMeta } from "../../../support/stored-meta.ts";

describe("an account", () => {
  it.each(ACCOUNT_STATES)("%s", (_name, before, facts, expected) => {
    const after = accountAfter(before, facts);
    expect(shows(after)).toBe(expected);
    expect(contractBreach(after.status.conditions)).toBe("");
  });

  it("shows the last known prices, and keeps them while none is known", () => {
    const shown = [{ name: "gpu", unit: "CardHour", price: "2", asOf: "2026-03-01T00:00:00Z" }] as const;
    const { status } = accountAfter(undefined, { outcome: probe({}), prices: readPrices(shown) });
    expect(status.prices).toEqual(shown);
    expect(accountAfter(status, { outcome: probe({}) }).status.prices).toEqual(shown);
  });

  it("that many namespaces share shows prices only where it shows its spending", () => {
    const prices = readPrices([{ name: "gpu", unit: "CardHour", price: "2", asOf: "2026-03-01T00:00:00Z" }]);
    const counts = { total: 0, managed: 0, orphaned: 0, inFlight: 0, abandoned: [] };
    const shownBy = (spending: object) => {
      const object: ClusterAccount = {
        apiVersion: "mooring.dev/v1alpha1",
        kind: "ClusterAccount",
        metadata: storedMeta({ name: "shared" }),
        spec: clusterAccountSpecSchema.parse(manifest("clusterAccount", { spending }).spec),
      };
      const none = { users: undefined, handledRequest: undefined, spend: undefined, budget: undefined, now: START };
      return accountStatus({ object, outcome: probe({}), counts, prices, ...none }).prices;
    };
    expect(shownBy({ showInStatus: true })).toHaveLength(1);
    expect(shownBy({})).toBeUndefined();
  });

  it("loses the conditions of a budget, of lists and of shares that it no longer has, and keeps a contest for a while", () => {
    const budget = {
      spec: { monthlyLimit: "100", action: "HoldNew" },
      state: { kind: "Limited", headroom: -1n, message: "" },
      keys: undefined,
    } as const;
    const faulty = { outcome: probe({}), budget, listFailure: "not JSON", shareFaults: ["team: too small"] };
    const { status } = accountAfter(undefined, faulty);
    const contested = { type: "Contested", status: "True", reason: "Contested", message: "" } as const;
    const before = {
      ...status,
      conditions: [...status.conditions, { ...contested, lastTransitionTime: "2026-03-01T00:00:00Z" }],
    };
    const typesOf = (facts: Parameters<typeof accountAfter>[1]) =>
      accountAfter(before, facts).status.conditions.map(({ type }) => type);
    const own = ["BudgetExceeded", "EndpointsListed", "SharesValid"];
    expect(typesOf(faulty)).toEqual(expect.arrayContaining([...own, "Contested"]));
    const healthy = typesOf({ outcome: probe({}) });
    expect(healthy).toContain("Contested");
    expect(healthy.filter((type) => own.includes(type))).toEqual([]);
    expect(typesOf({ outcome: probe({}), now: START + 24 * 3_600_000 })).not.toContain("Contested");
  });

  it("does not change when nothing did", () => {
    for (const [, before, facts] of ACCOUNT_STATES) {
      const { status } = accountAfter(before, facts);
      expect(accountAfter(status, facts).status).toEqual(status);
    }
  });
});
