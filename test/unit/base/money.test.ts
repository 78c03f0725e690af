import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatYuan, parseYuan, unitPrice } from "../../../src/base/money.ts";

/** A decimal string as an exact fraction. */
function rational(text: string): { n: bigint; d: bigint } {
  const negative = text.startsWith("-");
  const [whole = "", part = ""] = text.replace(/^[+-]/, "").split(".");
  const n = BigInt(whole + part);
  return { n: negative ? -n : n, d: 10n ** BigInt(part.length) };
}
const magnitude = (value: bigint) => (value < 0n ? -value : value);

describe("amounts", () => {
  it.each([
    [0n, "0"],
    [1n, "0.0001"],
    [-1n, "-0.0001"],
    [125_000n, "12.5"],
    [10_000n, "1"],
    [-123_456_789n, "-12345.6789"],
    [9_223_372_036_854_775_807n, "922337203685477.5807"],
  ])("%s is %s yuan", (amount, text) => {
    expect(formatYuan(amount)).toBe(text);
    expect(parseYuan(text)).toBe(amount);
  });

  it("is amount / 10000 exactly, whatever the size, and reads back", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }), (amount) => {
        const { n, d } = rational(formatYuan(amount));
        expect(n * 10_000n).toBe(amount * d);
        expect(parseYuan(formatYuan(amount))).toBe(amount);
      }),
    );
  });

  it.each(["", "1.23456", "1e3", "abc", "1,5", "+1", ".5"])('"%s" is no amount', (text) => {
    expect(() => parseYuan(text)).toThrow(`"${text}" is not an amount in yuan`);
  });
});

describe("unit prices (price / 10000 / pricePrecision)", () => {
  it.each([
    { price: "12345", precision: 1, yuan: "1.2345" },
    { price: "12345", precision: 100, yuan: "0.012345" },
    { price: "4", precision: 1_000_000, yuan: "0.0000000004" },
    { price: "0", precision: 7, yuan: "0" },
    { price: "1", precision: 3, yuan: "0.00003333333333333333" },
    { price: "2", precision: 3, yuan: "0.00006666666666666667" },
    { price: "-15", precision: 10, yuan: "-0.00015" },
    { price: "12.5", precision: 10, yuan: "0.000125" },
  ])("$price at precision $precision is $yuan yuan", ({ price, precision, yuan }) => {
    expect(unitPrice(price, precision)).toBe(yuan);
  });

  it.each([
    ["", 1],
    ["abc", 1],
    ["1", 0],
    ["1", -10],
    ["1", undefined],
    ["1", 1.5],
  ])("%s at precision %s cannot be computed", (price, precision) => {
    expect(unitPrice(price, precision)).toBeUndefined();
  });

  it("equals the exact rational where it ends, and is within half of the last decimal where it does not", () => {
    const price = fc.tuple(fc.bigInt({ min: -(10n ** 18n), max: 10n ** 18n }), fc.nat(6)).map(([digits, decimals]) => {
      const text = String(magnitude(digits)).padStart(decimals + 1, "0");
      const point = text.length - decimals;
      return `${digits < 0n ? "-" : ""}${text.slice(0, point)}${decimals === 0 ? "" : `.${text.slice(point)}`}`;
    });
    fc.assert(
      fc.property(price, fc.integer({ min: 1, max: 2 ** 31 - 1 }), (text, precision) => {
        const exact = rational(text);
        const d = exact.d * 10_000n * BigInt(precision);
        const shown = rational(unitPrice(text, precision) ?? "none");
        const error = magnitude(shown.n * d - exact.n * shown.d); // over d * shown.d
        let rest = d / gcd(magnitude(exact.n), d);
        while (rest % 2n === 0n) rest /= 2n;
        while (rest % 5n === 0n) rest /= 5n;
        if (rest === 1n) expect(error).toBe(0n);
        else expect(error * 2n * 10n ** 20n <= d * shown.d).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});

function gcd(a: bigint, b: bigint): bigint {
  return b === 0n ? a : gcd(b, a % b);
}
