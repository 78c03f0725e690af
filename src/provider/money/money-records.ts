import { isRecord } from "../../base/own-value.ts";
import { plainText, type Sanitizer } from "../../base/sanitizer.ts";
import { int64, TEXT, unixSeconds } from "../wire/bounds.ts";
import { fieldsOf, toBigInt, toNumber, toText } from "../wire/lenient.ts";

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

/** @throws UnusableError */
export function billFrom(value: unknown, sanitize: Sanitizer = plainText): Bill {
  const wire = fieldsOf(value);
  const name = (field: string) => sanitize(toText(wire[field]), TEXT.billName);
  const numbered = (prefix: string, count: number) =>
    Array.from({ length: count }, (_, i) => sanitize(toText(wire[`${prefix}${i}`]), TEXT.word));
  const money = (field: string) => int64(toBigInt(wire[field]));
  const { multimodalPricing, tieredConfig } = wire;
  return {
    userID: name("userId"),
    startTime: unixSeconds(toNumber(wire["startTime"])),
    endTime: unixSeconds(toNumber(wire["endTime"])),
    billingMethod: toNumber(wire["billingMethod"]),
    productName: name("productName"),
    category: name("category"),
    keyID: name("ownerID"),
    keyName: name("apikeyName"),
    keyMask: name("apikeyMask"),
    productID: name("productId"),
    usage: numbered("billNum", 16),
    basePrices: numbered("basePrice", 6),
    discountPrices: numbered("discountPrice", 6),
    amount: money("amount"),
    voucherAmount: money("voucherAmount"),
    payAmount: money("payAmount"),
    payAmountDisplay: toNumber(wire["payAmountDisplay"]),
    pricePrecision: toNumber(wire["pricePrecision"]),
    llmSeries: name("llmSeries"),
    requestCount: money("requestCount"),
    ...(isRecord(multimodalPricing) ? { multimodalPricing: prices(multimodalPricing, sanitize) } : {}),
    ...(isRecord(tieredConfig) ? { tieredConfig: prices(tieredConfig, sanitize) } : {}),
  };
}

/** A price list as the service spells it. One that is too large to be a price list is left out. */
function prices(list: Record<string, unknown>, sanitize: Sanitizer): Record<string, unknown> {
  const json = JSON.stringify(list);
  const shown = sanitize(json, PRICES_LIMIT);
  if (shown === json) return list;
  return { omitted: "the list is too long, or has characters or values that are not shown" };
}

/** @throws UnusableError */
export function keyBudgetFrom(value: unknown, sanitize: Sanitizer = plainText): KeyBudget {
  const wire = fieldsOf(value);
  const shown = (field: string, most: number) => sanitize(toText(wire[field]), most);
  const money = (field: string) => int64(toBigInt(wire[field]));
  return {
    keyID: shown("key_id", TEXT.name),
    keyName: shown("key_name", TEXT.name),
    type: shown("budget_type", TEXT.word),
    limit: money("budget_limit"),
    used: money("used"),
    remaining: money("remaining"),
    cycle: shown("cycle", TEXT.word),
    periodStart: moment(toText(wire["period_start"])),
    periodEnd: moment(toText(wire["period_end"])),
  };
}

/** A time that RFC 3339 can show; "" for any other. */
function moment(text: string): string {
  const seconds = Date.parse(text.slice(0, TEXT.word)) / 1000;
  return unixSeconds(seconds) === undefined ? "" : text.slice(0, TEXT.word);
}
