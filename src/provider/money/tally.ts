import type { Money } from "../../base/money.ts";
import type { Bill } from "./money-records.ts";

/** Exact sums over bills; money in 1/10000 yuan. */
export type Sums = { amount: Money; voucher: Money; paid: Money; records: number; requests: bigint };

export type ProductSums = Sums & { productID: string; productName: string };
export type CategorySums = Sums & { category: string };
/** `date`: the day on which the periods of the bills begin, as 2026-11-22. */
export type DateSums = Sums & { date: string };
export type KeySums = Sums & { keyID: string; keyName: string; keyMask: string };

/** A running sum over any number of bills; it grows with products, categories, keys and days, not with bills. */
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
      const product = entry(products, JSON.stringify([productID, productName]), { productID, productName });
      // A key may be renamed within the period: its last name counts.
      const key = Object.assign(entry(keys, keyID, { keyID, keyName, keyMask }), { keyName, keyMask });
      for (const sums of [totals, product, entry(categories, category, { category }), key]) count(sums, bill);
      if (dateOf === undefined || bill.startTime === undefined) return;
      const date = dateOf(bill.startTime);
      count(entry(dates, date, { date }), bill);
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

function entry<T extends object>(map: Map<string, T & Sums>, id: string, names: T): T & Sums {
  const known = map.get(id);
  if (known !== undefined) return known;
  const fresh = { ...names, ...nothing() };
  map.set(id, fresh);
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
