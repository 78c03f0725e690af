import type { BillWire, KeyBudgetWire } from "../wire/billing.ts";
import { isRecord, toBigInt, toNumber, toText } from "../wire/lenient.ts";

/**
 * One bill of an API key (interface: API key bill record). Amounts are exact, in 1/10000 yuan. Usage and prices stay as the
 * service spells them: what a number means differs by category, and a price is one only with `pricePrecision` (unitPrice of
 * src/money.ts). A field that the service left out, or that cannot be read, is "" or undefined.
 */
export type Bill = {
  userID: string;
  /** Unix seconds. */
  startTime: number | undefined;
  endTime: number | undefined;
  /** 1 pay-as-you-go, 2 subscription. */
  billingMethod: number | undefined;
  productName: string;
  category: string;
  /** The API key's identifier, which the service calls ownerID. */
  keyID: string;
  keyName: string;
  keyMask: string;
  productID: string;
  /** billNum0 to billNum15. */
  usage: string[];
  /** basePrice0 to basePrice5, list prices. */
  basePrices: string[];
  /** discountPrice0 to discountPrice5. */
  discountPrices: string[];
  /** Total cost, voucher deduction and cash paid. */
  amount: bigint | undefined;
  voucherAmount: bigint | undefined;
  payAmount: bigint | undefined;
  /** Yuan, for showing only. */
  payAmountDisplay: number | undefined;
  pricePrecision: number | undefined;
  llmSeries: string;
  requestCount: bigint | undefined;
  multimodalPricing?: Record<string, unknown>;
  tieredConfig?: Record<string, unknown>;
};

/** The budget of an API key. Money is exact, in 1/10000 yuan; `remaining` is negative when overdrawn. */
export type KeyBudget = {
  keyID: string;
  keyName: string;
  /** `Unlimited`, `One-time`, `Recurring`, or whatever else the service says. */
  type: string;
  limit: bigint | undefined;
  used: bigint | undefined;
  remaining: bigint | undefined;
  /** The three below are "" unless the budget recurs. */
  cycle: string;
  periodStart: string;
  periodEnd: string;
};

export function billFrom(wire: BillWire): Bill {
  const numbered = (prefix: string, count: number) =>
    Array.from({ length: count }, (_, i) => toText(wire[`${prefix}${i}`]));
  return {
    userID: wire.userId,
    startTime: toNumber(wire.startTime),
    endTime: toNumber(wire.endTime),
    billingMethod: wire.billingMethod,
    productName: wire.productName,
    category: wire.category,
    keyID: wire.ownerID,
    keyName: wire.apikeyName,
    keyMask: wire.apikeyMask,
    productID: wire.productId,
    usage: numbered("billNum", 16),
    basePrices: numbered("basePrice", 6),
    discountPrices: numbered("discountPrice", 6),
    amount: toBigInt(wire.amount),
    voucherAmount: toBigInt(wire.voucherAmount),
    payAmount: toBigInt(wire.payAmount),
    payAmountDisplay: wire.payAmountDisplay,
    pricePrecision: wire.pricePrecision,
    llmSeries: wire.llmSeries,
    requestCount: toBigInt(wire.requestCount),
    ...(isRecord(wire.multimodalPricing) ? { multimodalPricing: wire.multimodalPricing } : {}),
    ...(isRecord(wire.tieredConfig) ? { tieredConfig: wire.tieredConfig } : {}),
  };
}

export function keyBudgetFrom(wire: KeyBudgetWire): KeyBudget {
  return {
    keyID: wire.key_id,
    keyName: wire.key_name,
    type: wire.budget_type,
    limit: wire.budget_limit,
    used: wire.used,
    remaining: wire.remaining,
    cycle: wire.cycle,
    periodStart: wire.period_start,
    periodEnd: wire.period_end,
  };
}
