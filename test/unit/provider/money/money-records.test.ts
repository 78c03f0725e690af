import { describe, expect, it } from "vitest";
import { billOf } from "../../../support/bills.ts";

describe("the API key bill record", () => {
  it("is read in every field", () => {
    const numbered = (prefix: string, count: number, from: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`${prefix}${index}`, String(from + index)]));
    const bill = billOf({
      billingMethod: 2,
      ...numbered("billNum", 16, 100),
      ...numbered("basePrice", 6, 200),
      ...numbered("discountPrice", 6, 300),
      amount: "9223372036854775807",
      voucherAmount: "-12",
      payAmount: "9223372036854775795",
      payAmountDisplay: 922337203685477.6,
      pricePrecision: 1000,
      llmSeries: "series",
      requestCount: "42",
      multimodalPricing: { image: { price: "1" } },
      tieredConfig: { tiers: [{ upTo: 10 }] },
    });
    expect(bill).toEqual({
      userID: "owner-1",
      startTime: 1_767_225_600,
      endTime: 1_767_312_000,
      billingMethod: 2,
      productName: "Model A",
      category: "llm",
      keyID: "key-1",
      keyName: "default",
      keyMask: "sk-***1",
      productID: "product-1",
      usage: Array.from({ length: 16 }, (_, index) => String(100 + index)),
      basePrices: Array.from({ length: 6 }, (_, index) => String(200 + index)),
      discountPrices: Array.from({ length: 6 }, (_, index) => String(300 + index)),
      amount: 9_223_372_036_854_775_807n,
      voucherAmount: -12n,
      payAmount: 9_223_372_036_854_775_795n,
      payAmountDisplay: 922337203685477.6,
      pricePrecision: 1000,
      llmSeries: "series",
      requestCount: 42n,
      multimodalPricing: { image: { price: "1" } },
      tieredConfig: { tiers: [{ upTo: 10 }] },
    });
  });

  it("may lack the optional fields, and spell numbers as numbers and the float as a string", () => {
    const bill = billOf({ amount: 12, startTime: 1_767_225_600, payAmountDisplay: "0.0012", pricePrecision: "100" });
    expect(bill).toMatchObject({
      amount: 12n,
      startTime: 1_767_225_600,
      payAmountDisplay: 0.0012,
      pricePrecision: 100,
      llmSeries: "",
      requestCount: undefined,
    });
    expect(bill.usage.slice(6)).toEqual(Array.from({ length: 10 }, () => ""));
    expect(bill).not.toHaveProperty("multimodalPricing");
    expect(bill).not.toHaveProperty("tieredConfig");
  });

  it.each(["", "12.5", "1e3", "much", null])("an amount of %j is unreadable, not zero", (amount) => {
    expect(billOf({ amount }).amount).toBeUndefined();
  });
});
