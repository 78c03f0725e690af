import type { Money } from "../../base/money.ts";
import type { Bill } from "./money-records.ts";

/** Exact sums over bills; money in 1/10000 yuan. */
export type Sums = { amount: Money; voucher: Money; paid: Money; records: number; requests: bigint };

export type ProductSums = Sums & { productID: string; productName: string };
export type CategorySums = Sums & { category: string };
/** `date`: the day on which the periods of the bills begin, as 2026-11-22. */
export type DateSums = Sums & { date: string };
export type KeySums = Sums & { keyID: string; keyName: string; keyMask: string };

/** A running sum over any number of bills. Its tables have at most MOST_ROWS rows each, and one for everything else. */
export type Tally = {
  add(bill: Bill): void;
  totals(): Sums;
  /** Bills with an amount, voucher or payment that is no integer: counted among the records, missing from the sums. */
  unreadable(): number;
  /** Most expensive first; those that cost the same by name. */
  byProduct(): ProductSums[];
  byCategory(): CategorySums[];
  byKey(): KeySums[];
  /** Oldest first, without bills whose period is unknown. Empty without `dateOf`. */
  byDate(): DateSums[];
};

/** Most products, categories or keys with a row of their own. */
const MOST_ROWS = 10_000;
const OTHER = "(other)";

/** The key of a row in a table: the service can send any number of names. */
export function rowOf(table: ReadonlyMap<string, unknown>, id: string): string {
  return table.has(id) || table.size < MOST_ROWS ? id : OTHER;
}

/** @param dateOf the day of a time (Unix seconds) in the time zone of the bills */
export function createTally(dateOf?: (unixSeconds: number) => string): Tally {
  const totals = nothing();
  const products = new Map<string, ProductSums>();
  const categories = new Map<string, CategorySums>();
  const keys = new Map<string, KeySums>();
  const dates = new Map<string, DateSums>();
  let unreadable = 0;

  return {
    add(bill) {
      const { productID, productName, category, keyID, keyName, keyMask } = bill;
      if (bill.amount === undefined || bill.voucherAmount === undefined || bill.payAmount === undefined) unreadable++;
      const product = entry(products, JSON.stringify([productID, productName]), (name) => ({
        productID: name(productID),
        productName: name(productName),
      }));
      const key = entry(keys, keyID, (name) => ({
        keyID: name(keyID),
        keyName: name(keyName),
        keyMask: name(keyMask),
      }));
      // A key may be renamed within the period: its last name counts.
      if (key.keyID === keyID) Object.assign(key, { keyName, keyMask });
      const ofCategory = entry(categories, category, (name) => ({ category: name(category) }));
      for (const sums of [totals, product, ofCategory, key]) count(sums, bill);
      if (dateOf === undefined || bill.startTime === undefined) return;
      const date = dateOf(bill.startTime);
      count(
        entry(dates, date, () => ({ date })),
        bill,
      );
    },
    totals: () => totals,
    unreadable: () => unreadable,
    byProduct: () => sorted(products, ({ productName, productID }) => `${productName}\n${productID}`),
    byCategory: () => sorted(categories, ({ category }) => category),
    byKey: () => sorted(keys, ({ keyName, keyID }) => `${keyName}\n${keyID}`),
    byDate: () => [...dates.values()].sort((a, b) => (a.date < b.date ? -1 : 1)),
  };
}

function nothing(): Sums {
  return { amount: 0n, voucher: 0n, paid: 0n, records: 0, requests: 0n };
}

/** @param namesOf the row's names; the row of what has none of its own names itself */
function entry<T extends object>(
  map: Map<string, T & Sums>,
  id: string,
  namesOf: (name: (text: string) => string) => T,
): T & Sums {
  const row = rowOf(map, id);
  const known = map.get(row);
  if (known !== undefined) return known;
  const fresh = { ...namesOf(row === id ? (text) => text : () => OTHER), ...nothing() };
  map.set(row, fresh);
  return fresh;
}

function count(sums: Sums, bill: Bill): void {
  sums.amount += bill.amount ?? 0n;
  sums.voucher += bill.voucherAmount ?? 0n;
  sums.paid += bill.payAmount ?? 0n;
  sums.records += 1;
  sums.requests += bill.requestCount ?? 0n;
}

function sorted<T extends Sums>(map: ReadonlyMap<string, T>, name: (row: T) => string): T[] {
  const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
  return [...map.values()].sort((a, b) =>
    a.amount === b.amount ? compare(name(a), name(b)) : a.amount > b.amount ? -1 : 1,
  );
}
