import fc from "fast-check";
import { expect, test } from "vitest";
import { apportion } from "../../../../src/controllers/billing/split.ts";

const sum = (values: readonly bigint[]) => values.reduce((total, value) => total + value, 0n);

test.each([
  { name: "an even split", amount: 9n, weights: [1n, 1n, 1n], parts: [3n, 3n, 3n] },
  { name: "the largest remainder gets the unit", amount: 10n, weights: [5n, 3n, 1n], parts: [6n, 3n, 1n] },
  { name: "equal remainders get units in order", amount: 2n, weights: [1n, 1n, 1n], parts: [1n, 1n, 0n] },
  { name: "a refund", amount: -10n, weights: [5n, 3n, 1n], parts: [-6n, -3n, -1n] },
  { name: "a weight of 0 gets nothing", amount: 7n, weights: [0n, 1n], parts: [0n, 7n] },
])("$name", ({ amount, weights, parts }) => {
  expect(apportion(amount, weights)).toEqual(parts);
});

test("without a weight there is no split", () => {
  expect(() => apportion(1n, [])).toThrow("at least one weight above 0");
  expect(() => apportion(1n, [0n, 0n])).toThrow("at least one weight above 0");
});

test("the parts add up exactly, and no part is a unit or more away from its exact share", () => {
  const weights = fc
    .array(fc.bigInt({ min: 0n, max: 10n ** 18n }), { minLength: 1, maxLength: 40 })
    .filter((all) => sum(all) > 0n);
  fc.assert(
    fc.property(fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n }), weights, (amount, shares) => {
      const parts = apportion(amount, shares);
      const total = sum(shares);
      expect(sum(parts)).toBe(amount);
      for (const [index, part] of parts.entries()) {
        const difference = part * total - amount * (shares[index] ?? 0n);
        expect(difference < 0n ? -difference : difference).toBeLessThan(total);
      }
    }),
  );
});
