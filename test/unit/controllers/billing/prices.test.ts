import { describe, expect, it, test } from "vitest";
import { meterOfBills } from "../../../../src/controllers/billing/meters.ts";
import { costAt, readPrices, SHOWN_PRICES, shownPrices } from "../../../../src/controllers/billing/prices.ts";
import { createSplit } from "../../../../src/controllers/billing/split.ts";
import { indexUsage, type Usage } from "../../../../src/controllers/billing/usage.ts";
import { timeZone } from "../../../../src/provider/money/time-zone.ts";
import { billOf, seconds } from "../../../support/bills.ts";

const DAY = 86_400;
const begin = seconds("2026-03-01T00:00:00Z");
const used = (change: Partial<Usage>): Usage => ({
  account: "Account/team/default",
  namespace: "team",
  object: "SpeechJob/one",
  created: 0,
  meter: "model/speech-2.6-hd",
  day: "2026-03-01",
  quantity: 1000,
  requests: 1,
  ...change,
});
/** A bill of the n-th day of March. */
const bill = (day: number, change: Record<string, unknown>) =>
  billOf({ startTime: String(begin + (day - 1) * DAY), endTime: String(begin + day * DAY), ...change });

/** The prices that bills of March and this usage show on the 4th, when what ended before the 3rd is settled. */
function pricesFrom(bills: ReturnType<typeof bill>[], usage: Usage[]) {
  const zone = timeZone("UTC");
  const settledBefore = begin + 2 * DAY + 1;
  const split = createSplit({ usage: indexUsage(usage), meterOf: meterOfBills(), zone, settledBefore });
  for (const one of bills) split.add(one);
  return shownPrices(split.result().prices);
}
const speech = (amount: string) => ({ productId: "speech-2.6-hd", amount });

describe("the price that bills show", () => {
  test.each([
    {
      name: "of a model: the cost of the use of the newest settled day",
      bills: [bill(1, speech("20000")), bill(2, speech("30000")), bill(3, speech("1"))],
      usage: ["01", "02", "03"].map((day) => used({ day: `2026-03-${day}` })),
      prices: [{ name: "speech-2.6-hd", unit: "ThousandCharacters", price: "3", asOf: "2026-03-03T00:00:00Z" }],
    },
    {
      name: "of a model without a settled day: the cost of all its use",
      bills: [bill(3, speech("20000")), bill(4, speech("10000"))],
      usage: [used({ day: "2026-03-03" }), used({ day: "2026-03-04" })],
      prices: [{ name: "speech-2.6-hd", unit: "ThousandCharacters", price: "1.5", asOf: "2026-03-05T00:00:00Z" }],
    },
    {
      name: "of a product: the discounted price per card and hour of the newest bill, although nothing here used it",
      bills: [
        bill(1, { productId: "gpu", amount: "5", discountPrice0: "20000", basePrice0: "30000", pricePrecision: 1 }),
        bill(2, { productId: "gpu", amount: "5", discountPrice0: "1234567", pricePrecision: 100 }),
      ],
      usage: [],
      prices: [{ name: "gpu", unit: "CardHour", price: "1.234567", asOf: "2026-03-03T00:00:00Z" }],
    },
    {
      name: "of a product whose bills name no price: the cost of its card-seconds",
      bills: [bill(1, { productId: "gpu", amount: "20000" })],
      usage: [used({ meter: "product/gpu", quantity: 7_200 })],
      prices: [{ name: "gpu", unit: "CardHour", price: "1", asOf: "2026-03-02T00:00:00Z" }],
    },
    {
      name: "of a video model: by second, at most eight decimals",
      bills: [bill(1, { productId: "vid-i2v", amount: "10000" })],
      usage: [used({ meter: "model/vid-i2v", quantity: 3 })],
      prices: [{ name: "vid-i2v", unit: "Second", price: "0.33333333", asOf: "2026-03-02T00:00:00Z" }],
    },
    { name: "of what nobody used: none", bills: [bill(1, speech("20000"))], usage: [], prices: [] },
    { name: "of a refund: none", bills: [bill(1, speech("-5"))], usage: [used({})], prices: [] },
  ])("$name", ({ bills, usage, prices }) => {
    expect(pricesFrom(bills, usage)).toEqual(prices);
  });
});

describe("prices in a status", () => {
  const asOf = "2026-03-02T00:00:00Z";

  it("are the same when they are read again", () => {
    const shown = [
      { name: "gpu", unit: "CardHour", price: "12.3456", asOf },
      { name: "speech-2.6-hd", unit: "ThousandCharacters", price: "0.33333333", asOf },
      { name: "vid-i2v", unit: "Second", price: "2", asOf },
    ] as const;
    const prices = readPrices(shown);
    expect(shownPrices(prices)).toEqual(shown);
    const speechPrice = prices.get("model/speech-2.6-hd");
    expect(speechPrice && costAt(speechPrice, 3_000_000n)).toBe(10_000_000n);
    const card = prices.get("product/gpu");
    expect(card && costAt(card, 1_800n)).toBe(61_728n);
  });

  it("that somebody changed are left out", () => {
    expect(readPrices([{ name: "gpu", unit: "CardHour", price: "-1", asOf }]).size).toBe(0);
    expect(readPrices([{ name: "vid-i2v", unit: "ThousandCharacters", price: "1", asOf }]).size).toBe(0);
  });

  it("are at most as many as a status takes", () => {
    const many = Array.from({ length: SHOWN_PRICES + 1 }, (_, index) => ({
      name: `gpu-${String(index).padStart(3, "0")}`,
      unit: "CardHour" as const,
      price: "1",
      asOf,
    }));
    expect(shownPrices(readPrices(many))).toEqual(many.slice(0, SHOWN_PRICES));
  });
});
