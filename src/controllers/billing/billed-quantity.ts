import type { Bill } from "../../provider/money/money-records.ts";

type Priced = Pick<Bill, "amount" | "pricePrecision" | "discountPrices" | "basePrices" | "usage">;

const SECONDS_PER_HOUR = 3_600n;
const PRICE = /^(\d{1,30})(?:\.(\d{1,20}))?$/;

/**
 * The card-seconds that a GPU bill pays for: its amount divided by its price per card and hour. The price is the discounted
 * one, else the list price, else usage field 0 (interface: "For GPU, field 0 is a unit price per card per hour"). undefined: the
 * bill shows no price or no amount.
 */
export function billedCardSeconds({ amount, pricePrecision, ...prices }: Priced): bigint | undefined {
  if (amount === undefined || pricePrecision === undefined) return undefined;
  if (!Number.isSafeInteger(pricePrecision) || pricePrecision <= 0) return undefined;
  const { discountPrices, basePrices, usage } = prices;
  for (const text of [discountPrices[0], basePrices[0], usage[0]]) {
    const [, whole = "", part = ""] = PRICE.exec(text?.trim() ?? "") ?? [];
    const price = BigInt(`0${whole}${part}`);
    if (price === 0n) continue;
    // The price is price / 10000 / pricePrecision yuan, and the amount is in 1/10000 yuan.
    return (amount * BigInt(pricePrecision) * SECONDS_PER_HOUR * 10n ** BigInt(part.length)) / price;
  }
  return undefined;
}
