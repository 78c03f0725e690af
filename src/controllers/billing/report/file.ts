import type { BillFormat } from "../../../api/v1alpha1/bill-report.ts";
import { rfc3339 } from "../../../base/clock.ts";
import { formatYuan, unitPrice } from "../../../base/money.ts";
import type { Bill } from "../../../provider/money/money-records.ts";
import type { TimeRange } from "../../../provider/money/ranges.ts";
import type { Sums, Tally } from "../../../provider/money/tally.ts";

/** Sums as they are shown: money in yuan, as decimal strings. */
export type ShownSums = { amount: string; voucher: string; paid: string; records: number };

export function shownSums({ amount, voucher, paid, records }: Sums): ShownSums {
  return { amount: formatYuan(amount), voucher: formatYuan(voucher), paid: formatYuan(paid), records };
}

/** The three tables in full, most expensive first. */
export function shownTables(tally: Tally) {
  return {
    byProduct: tally.byProduct().map((row) => ({
      productName: row.productName,
      productID: row.productID,
      ...shownSums(row),
    })),
    byCategory: tally.byCategory().map((row) => ({ category: row.category, ...shownSums(row) })),
    byKey: tally.byKey().map((row) => ({
      keyID: row.keyID,
      keyName: row.keyName,
      keyMask: row.keyMask,
      ...shownSums(row),
    })),
  };
}

/** The facts of a report besides its period. */
export function shownTotals(tally: Tally) {
  return { totals: shownSums(tally.totals()), unreadable: tally.unreadable(), ...shownTables(tally) };
}

export function shownPeriod({ startTime, endTime }: TimeRange): { startTime: string; endTime: string } {
  return { startTime: rfc3339(startTime * 1000), endTime: rfc3339(endTime * 1000) };
}

/** The bills of these API keys; undefined: of all. */
export async function* ofKeys(
  bills: AsyncIterable<Bill[]>,
  keyIDs: readonly string[] | undefined,
): AsyncGenerator<Bill[]> {
  const wanted = keyIDs && new Set(keyIDs);
  for await (const some of bills) yield wanted ? some.filter(({ keyID }) => wanted.has(keyID)) : some;
}

/** Counts bills into a tally or a split while they pass. */
export async function* counted(bills: AsyncIterable<Bill[]>, into: Pick<Tally, "add">): AsyncGenerator<Bill[]> {
  for await (const some of bills) {
    for (const bill of some) into.add(bill);
    yield some;
  }
}

/**
 * The bills as a file, piece by piece, so that it never has to be in memory as a whole. CSV (RFC 4180) has a line for each
 * bill; JSON has all bills and after them the tables, which `summary` gives at the end. Money and prices are in yuan.
 */
export async function* fileOf(
  format: BillFormat,
  bills: AsyncIterable<Bill[]>,
  summary: () => Record<string, unknown>,
): AsyncGenerator<string> {
  const shown = createBillView();
  if (format === "CSV") {
    yield csvLine(COLUMNS);
    for await (const some of bills) yield some.map((bill) => csvLine(cells(shown(bill)))).join("");
    return;
  }
  yield '{\n  "bills": [';
  let first = true;
  for await (const some of bills) {
    yield some.map((bill, index) => `${first && index === 0 ? "" : ","}\n    ${JSON.stringify(shown(bill))}`).join("");
    if (some.length > 0) first = false;
  }
  yield `${first ? "" : "\n  "}],\n${JSON.stringify(summary(), null, 2).slice(2)}\n`;
}

const USAGES = 16;
const PRICES = 6;
const numbered = (prefix: string, count: number) => Array.from({ length: count }, (_, index) => `${prefix}${index}`);

const COLUMNS = [
  ...["startTime", "endTime", "userID", "keyID", "keyName", "keyMask", "category", "productName", "productID"],
  ...["billingMethod", "llmSeries", "requestCount", "amount", "voucherAmount", "payAmount", "payAmountDisplay"],
  "pricePrecision",
  ...numbered("billNum", USAGES),
  ...numbered("basePrice", PRICES),
  ...numbered("discountPrice", PRICES),
  ...["multimodalPricing", "tieredConfig"],
];

type BillView = ReturnType<ReturnType<typeof createBillView>>;

/** A bill as a file shows it. What the service left out is "" (text, amounts, prices) or null (numbers). */
function createBillView() {
  const price = createPriceMemory();
  return (bill: Bill) => {
    const yuan = (amount: bigint | undefined) => (amount === undefined ? "" : formatYuan(amount));
    const { pricePrecision } = bill;
    return {
      startTime: bill.startTime === undefined ? "" : rfc3339(bill.startTime * 1000),
      endTime: bill.endTime === undefined ? "" : rfc3339(bill.endTime * 1000),
      userID: bill.userID,
      keyID: bill.keyID,
      keyName: bill.keyName,
      keyMask: bill.keyMask,
      category: bill.category,
      productName: bill.productName,
      productID: bill.productID,
      billingMethod: bill.billingMethod ?? null,
      llmSeries: bill.llmSeries,
      requestCount: bill.requestCount === undefined ? "" : String(bill.requestCount),
      amount: yuan(bill.amount),
      voucherAmount: yuan(bill.voucherAmount),
      payAmount: yuan(bill.payAmount),
      payAmountDisplay: bill.payAmountDisplay ?? null,
      pricePrecision: pricePrecision ?? null,
      billNum: bill.usage,
      basePrice: bill.basePrices.map((text) => price(text, pricePrecision)),
      discountPrice: bill.discountPrices.map((text) => price(text, pricePrecision)),
      multimodalPricing: bill.multimodalPricing ?? null,
      tieredConfig: bill.tieredConfig ?? null,
    };
  };
}

/** A price list is short and a year's bills are many: each price is computed once. */
function createPriceMemory() {
  const known = new Map<string, string>();
  return (text: string, precision: number | undefined): string => {
    const id = `${text}/${precision}`;
    const found = known.get(id);
    if (found !== undefined) return found;
    const computed = unitPrice(text, precision) ?? "";
    if (known.size < 10_000) known.set(id, computed);
    return computed;
  };
}

function cells(view: BillView): string[] {
  const { billNum, basePrice, discountPrice, multimodalPricing, tieredConfig, ...plain } = view;
  const json = (value: object | null) => (value === null ? "" : JSON.stringify(value));
  return [
    ...Object.values(plain).map((value) => (value === null ? "" : String(value))),
    ...billNum,
    ...basePrice,
    ...discountPrice,
    json(multimodalPricing),
    json(tieredConfig),
  ];
}

export function csvLine(values: readonly string[]): string {
  return `${values.map(csvCell).join(",")}\r\n`;
}

/** A spreadsheet runs a text that begins with = + - or @. Names come from other people, so such names get an apostrophe. */
function csvCell(value: string): string {
  const plain = /^[=+@\t\r]|^-(?![\d.]+$)/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}
