import { type Bill, billFrom } from "../../src/provider/money/money-records.ts";
import type { MoneySettings } from "../../src/provider/money/spend.ts";

/** A bill as the service spells it, with every field that is always present, and small changes. */
export function billRecord(change: Record<string, unknown> = {}): Record<string, unknown> {
  const numbered = (prefix: string, count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`${prefix}${index}`, "0"]));
  return {
    userId: "owner-1",
    startTime: "1767225600",
    endTime: "1767312000",
    billingMethod: 1,
    productName: "Model A",
    category: "llm",
    ownerID: "key-1",
    apikeyName: "default",
    apikeyMask: "sk-***1",
    productId: "product-1",
    ...numbered("billNum", 6),
    ...numbered("basePrice", 6),
    ...numbered("discountPrice", 6),
    amount: "0",
    voucherAmount: "0",
    payAmount: "0",
    payAmountDisplay: 0,
    pricePrecision: 1,
    ...change,
  };
}

export function billOf(change: Record<string, unknown> = {}): Bill {
  return billFrom(billRecord(change));
}

/** Unix seconds of an RFC 3339 time. */
export const seconds = (time: string): number => Date.parse(time) / 1000;

/** Bills by days of UTC that settle in a day; nothing waits for them. */
export function moneySettings(change: Partial<MoneySettings> = {}): MoneySettings {
  return {
    billing: () => ({ intervalMs: 3_600_000, timeZone: "UTC", settleMs: 86_400_000 }),
    wanted: () => true,
    memberID: () => undefined,
    billsUrgency: () => "None",
    budgetsUrgency: () => "None",
    ...change,
  };
}
