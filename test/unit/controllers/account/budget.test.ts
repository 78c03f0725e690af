import { describe, expect, it } from "vitest";
import { type BudgetSpec, budgetState, usedOf } from "../../../../src/controllers/account/budget.ts";
import type { KeyBudget } from "../../../../src/provider/money/money-records.ts";

const key = (change: Partial<KeyBudget> = {}): KeyBudget => ({
  keyID: "k1",
  keyName: "main",
  type: "One-time",
  limit: 1_000_000n,
  used: 0n,
  remaining: 1_000_000n,
  cycle: "",
  periodStart: "",
  periodEnd: "",
  ...change,
});
const member = (change: Partial<BudgetSpec> = {}): BudgetSpec => ({ action: "HoldNew", memberID: "m", ...change });

describe("what a budget leaves", () => {
  it.each([
    ["what remains of the key", member(), [key({ remaining: 25_000n })], 25_000n],
    ["less what must be left", member({ minRemaining: "1.5" }), [key({ remaining: 25_000n })], 10_000n],
    ["the least of all keys", member(), [key(), key({ keyID: "k2", remaining: 7n })], 7n],
    ["the key that counts", member({ keyID: "k1" }), [key(), key({ keyID: "k2", remaining: 7n })], 1_000_000n],
    ["below zero when overdrawn", member(), [key({ remaining: -5n })], -5n],
    ["limit less use where nothing else is told", member(), [key({ remaining: undefined, used: 400_000n })], 600_000n],
    ["a type that is not known by its numbers", member(), [key({ type: "Weird", remaining: 3n })], 3n],
  ] as const)("is %s", (_name, spec, keys, headroom) => {
    expect(budgetState(spec, { keys: [...keys], spentThisMonth: undefined })).toMatchObject({
      kind: "Limited",
      headroom,
    });
  });

  it("is unlimited when every key is", () => {
    const keys = [key({ type: "Unlimited", remaining: 0n })];
    expect(budgetState(member(), { keys, spentThisMonth: undefined }).kind).toBe("Unlimited");
  });

  it.each([
    ["not read yet", member(), undefined],
    ["of a member without budgets", member(), []],
    ["of a key that is not among them", member({ keyID: "other" }), [key()]],
  ] as const)("is unknown when %s", (_name, spec, keys) => {
    const view = { keys: keys === undefined ? undefined : [...keys], spentThisMonth: undefined };
    expect(budgetState(spec, view).kind).toBe("Unknown");
  });

  it.each([
    ["a key's budget shows no amount", member(), [key(), key({ keyID: "k2", remaining: undefined, used: undefined })]],
    ["a key's limit cannot be read", member(), [key({ remaining: undefined, limit: undefined })]],
  ] as const)("is unknown when %s", (_name, spec, keys) => {
    expect(budgetState(spec, { keys: [...keys], spentThisMonth: undefined }).kind).toBe("Unknown");
  });

  it("is unknown when the amount of a bill of the month cannot be read", () => {
    const spec: BudgetSpec = { action: "HoldNew", monthlyLimit: "100" };
    const state = budgetState(spec, { keys: undefined, spentThisMonth: undefined, unreadableBills: 2 });
    expect(state).toEqual({
      kind: "Unknown",
      message:
        "What the month has cost is not known: 2 of its bills have an amount that is not an integer of 1/10000 yuan",
    });
  });

  it("what is used is unknown when a part of it cannot be read", () => {
    const keys = [key({ used: 5n }), key({ keyID: "k2", used: undefined })];
    expect(usedOf(member(), { keys, spentThisMonth: undefined })).toBeUndefined();
    expect(usedOf(member({ keyID: "k1" }), { keys, spentThisMonth: undefined })).toBe(5n);
  });

  it("says why it is not known", () => {
    const spec = member({ monthlyLimit: "100" });
    const messageOf = (failures?: { keys: string | undefined; bills: string | undefined }, keys?: KeyBudget[]) =>
      budgetState(spec, { keys, spentThisMonth: undefined, ...(failures === undefined ? {} : { failures }) }).message;
    expect(messageOf()).toMatch(/^The key budgets of member \S+ are not read yet$/);
    expect(messageOf({ keys: "no right", bills: undefined })).toMatch(/^The key budgets .* cannot be read: no right$/);
    expect(messageOf({ keys: undefined, bills: "no right" }, [key()])).toBe(
      "The bills of the month cannot be read: no right",
    );
  });

  it("is what the bills leave of a monthly limit", () => {
    const spec: BudgetSpec = { action: "Warn", monthlyLimit: "100" };
    expect(budgetState(spec, { keys: undefined, spentThisMonth: 990_000n })).toEqual({
      kind: "Limited",
      headroom: 10_000n,
      message: "The month has cost 99 of 100 yuan",
    });
    expect(budgetState(spec, { keys: undefined, spentThisMonth: undefined }).kind).toBe("Unknown");
  });

  it("is the least of both, and what is exceeded is exceeded whatever else is unknown", () => {
    const spec = member({ monthlyLimit: "100" });
    expect(budgetState(spec, { keys: [key()], spentThisMonth: 999_999n })).toMatchObject({ headroom: 1n });
    expect(budgetState(spec, { keys: undefined, spentThisMonth: 1_000_000n })).toMatchObject({ headroom: 0n });
    expect(budgetState(spec, { keys: undefined, spentThisMonth: 0n }).kind).toBe("Unknown");
  });
});
