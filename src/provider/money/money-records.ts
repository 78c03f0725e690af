import { plainText, type Sanitizer } from "../../base/sanitizer.ts";
import type { BillWire, KeyBudgetWire } from "../wire/billing.ts";
import { int64, TEXT, unixSeconds } from "../wire/bounds.ts";
import { isRecord, toBigInt, toNumber, toText } from "../wire/lenient.ts";

/**
 * One bill of an API key (interface: API key bill record). Amounts are exact, in 1/10000 yuan. Usage and prices stay as the
 * service spells them: what a number means differs by category, and a price is one only with `pricePrecision` (unitPrice of
 * src/base/money.ts). A field that the service left out, or that cannot be read, is "" or undefined.
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

/** Longest price list of a bill, as JSON. */
const PRICES_LIMIT = 16_384;

export function billFrom(wire: BillWire, sanitize: Sanitizer = plainText): Bill {
  const name = (text: string) => sanitize(text, TEXT.billName);
  const numbered = (prefix: string, count: number) =>
    Array.from({ length: count }, (_, i) => sanitize(toText(wire[`${prefix}${i}`]), TEXT.word));
  const money = (text: string) => int64(toBigInt(text));
  return {
    userID: name(wire.userId),
    startTime: unixSeconds(toNumber(wire.startTime)),
    endTime: unixSeconds(toNumber(wire.endTime)),
    billingMethod: wire.billingMethod,
    productName: name(wire.productName),
    category: name(wire.category),
    keyID: name(wire.ownerID),
    keyName: name(wire.apikeyName),
    keyMask: name(wire.apikeyMask),
    productID: name(wire.productId),
    usage: numbered("billNum", 16),
    basePrices: numbered("basePrice", 6),
    discountPrices: numbered("discountPrice", 6),
    amount: money(wire.amount),
    voucherAmount: money(wire.voucherAmount),
    payAmount: money(wire.payAmount),
    payAmountDisplay: wire.payAmountDisplay,
    pricePrecision: wire.pricePrecision,
    llmSeries: name(wire.llmSeries),
    requestCount: money(wire.requestCount),
    ...(isRecord(wire.multimodalPricing) ? { multimodalPricing: prices(wire.multimodalPricing, sanitize) } : {}),
    ...(isRecord(wire.tieredConfig) ? { tieredConfig: prices(wire.tieredConfig, sanitize) } : {}),
  };
}

/** A price list as the service spells it. One that is too large to be a price list is left out. */
function prices(list: Record<string, unknown>, sanitize: Sanitizer): Record<string, unknown> {
  const json = JSON.stringify(list);
  const shown = sanitize(json, PRICES_LIMIT);
  if (shown === json) return list;
  return { omitted: "the list is too long, or has characters or values that are not shown" };
}

export function keyBudgetFrom(wire: KeyBudgetWire, sanitize: Sanitizer = plainText): KeyBudget {
  return {
    keyID: sanitize(wire.key_id, TEXT.name),
    keyName: sanitize(wire.key_name, TEXT.name),
    type: sanitize(wire.budget_type, TEXT.word),
    limit: int64(wire.budget_limit),
    used: int64(wire.used),
    remaining: int64(wire.remaining),
    cycle: sanitize(wire.cycle, TEXT.word),
    periodStart: moment(wire.period_start),
    periodEnd: moment(wire.period_end),
  };
}

/** A time that RFC 3339 can show; "" for any other. */
function moment(text: string): string {
  const seconds = Date.parse(text.slice(0, TEXT.word)) / 1000;
  return unixSeconds(seconds) === undefined ? "" : text.slice(0, TEXT.word);
}
