import type { SplitBy } from "../../api/v1alpha1/bill-report.ts";
import type { Money } from "../../base/money.ts";
import type { Bill } from "../../provider/money/money-records.ts";
import { LONGEST_SECONDS } from "../../provider/money/ranges.ts";
import type { CalendarDay, TimeZone } from "../../provider/money/time-zone.ts";
import { countsWorkers, type Meter } from "./meters.ts";
import type { Price, Prices } from "./prices.ts";
import type { UsageIndex, UsageRow } from "./usage.ts";

/** What a namespace or an object costs. `object`: "" for a whole namespace. */
export type Share = Pick<UsageRow, "namespace" | "object" | "created"> & { amount: Money };

/**
 * Splits bills among the objects that used them.
 *
 * # Guarantees
 * - The shares and the unattributed rest add up exactly to the bills, whatever the usage says.
 * - The share of a namespace is the sum of the shares of its objects.
 * - The result does not depend on the order of the bills.
 */
export type Split = {
  /** A bill without a readable amount counts as 0. */
  add(bill: Bill): void;
  result(): SplitResult;
};

export type SplitResult = {
  total: Money;
  /** What no object of the cluster is known to have used. */
  unattributed: Money;
  /** Most expensive first, then by name. */
  shares(by: SplitBy): Share[];
  /**
   * Of a product, what its newest bill shows, else the cost of its observed usage. Of a model, the cost of the observed usage of the
   * newest settled day, else of the whole period.
   */
  prices: Prices;
};

/** The longest bill of a cycle, and an hour more for a change of the clock. */
const LONGEST_BILL_SECONDS = LONGEST_SECONDS.Month + 3_600;

export type SplitOptions = {
  usage: UsageIndex;
  meterOf: (bill: Bill) => Meter;
  /** The days of the usage and of the bills. */
  zone: Pick<TimeZone, "dayOf">;
  /** Bills that end before it do not change any more, Unix seconds. Default: none. */
  settledBefore?: number;
};

/** The bills of one meter and period. All API keys together, because nobody knows which key an object used. */
type BillGroup = {
  meter: Meter;
  /** `YYYY-MM-DD`. */
  first: string;
  last: string;
  amount: Money;
  /** Card-seconds or requests that the bills pay for; undefined: a bill does not show it. */
  billed: bigint | undefined;
  /** The latest end of its bills, Unix seconds. */
  end: number;
  /** The price of a card that a bill shows. */
  cardPrice: Omit<Price, "asOf"> | undefined;
};

export function createSplit({ usage, meterOf, zone, settledBefore = 0 }: SplitOptions): Split {
  const groups = new Map<string, BillGroup>();
  const dayOf = rememberDays(zone);
  let outside = 0n;

  return {
    add(bill) {
      const amount = bill.amount ?? 0n;
      const { startTime, endTime } = bill;
      if (startTime === undefined || endTime === undefined || endTime - startTime > LONGEST_BILL_SECONDS) {
        outside += amount;
        return;
      }
      const meter = meterOf(bill);
      const [first, last] = [dayOf(startTime), dayOf(Math.max(startTime, endTime - 1))];
      const id = JSON.stringify([meter, first, last]);
      const empty = { meter, first, last, amount: 0n, billed: 0n, end: 0, cardPrice: undefined };
      const group: BillGroup = groups.get(id) ?? empty;
      groups.set(id, group);
      group.amount += amount;
      group.end = Math.max(group.end, endTime);
      if (countsWorkers(meter)) group.cardPrice = cardPrice(bill) ?? group.cardPrice;
      const billed = countsWorkers(meter) ? billedCardSeconds(bill) : bill.requestCount;
      group.billed = group.billed === undefined || billed === undefined ? undefined : group.billed + billed;
    },
    result: () => resultOf(groups.values(), { usage, outside, settledBefore }),
  };
}

/** The rows of one group at a time are in memory: the service chooses the periods of its bills. */
function resultOf(
  groups: Iterable<BillGroup>,
  { usage, outside, settledBefore }: { usage: UsageIndex; outside: Money; settledBefore: number },
): SplitResult {
  const objects = new Map<string, Share>();
  const priceList = createPriceList(settledBefore);
  let unattributed = outside;
  let total = outside;

  for (const group of groups) {
    const { meter, amount } = group;
    const rows = usage.rows(meter, group.first, group.last);
    total += amount;
    const [rest = amount, ...parts] = partsOf(group, rows);
    unattributed += rest;
    const used = { amount: 0n, quantity: 0n };
    for (const [index, { namespace, object, created, quantity }] of rows.entries()) {
      const part = parts[index] ?? 0n;
      if (namespace === "") {
        unattributed += part;
        continue;
      }
      addShare(objects, { namespace, object, created, amount: part });
      used.amount += part;
      used.quantity += quantity;
    }
    priceList.add(group, { ...used, quantity: billedOf(group, rows, used.quantity) });
  }
  return {
    total,
    unattributed,
    prices: priceList.prices(),
    shares(by) {
      if (by === "Object") return sorted(objects);
      const namespaces = new Map<string, Share>();
      for (const share of objects.values()) addShare(namespaces, { ...share, object: "", created: 0 });
      return sorted(namespaces);
    },
  };
}

/** Finds the price of each meter. `used`: the observed usage of a group and its cost. */
function createPriceList(settledBefore: number) {
  const totals = new Map<Meter, Price>();
  /** Of the newest bills. */
  const newest = new Map<Meter, Price>();

  return {
    add({ meter, end, cardPrice }: BillGroup, used: Omit<Price, "asOf">): void {
      const asOf = end * 1000;
      const { amount, quantity, asOf: last } = totals.get(meter) ?? { amount: 0n, quantity: 0n, asOf: 0 };
      const sums = { amount: amount + used.amount, quantity: quantity + used.quantity, asOf: Math.max(asOf, last) };
      if (used.quantity > 0n) totals.set(meter, sums);
      const price = cardPrice ?? (end < settledBefore && used.quantity > 0n ? used : undefined);
      if (price !== undefined && asOf >= (newest.get(meter)?.asOf ?? 0)) newest.set(meter, { ...price, asOf });
    },
    prices: () => new Map([...totals, ...newest].filter(([, { amount }]) => amount >= 0n)),
  };
}

/** The unattributed part of a group, then the part of each row. */
function partsOf({ meter, amount, billed }: BillGroup, rows: readonly UsageRow[]): Money[] {
  const quantities = rows.map(({ quantity }) => quantity);
  const used = sum(quantities);
  if (used === 0n) return [amount, ...rows.map(() => 0n)];
  return apportion(amount, [restOf(meter, rows, billed), ...quantities]);
}

/**
 * The part of the observed usage that the bills pay for. Requests that are not billed yet do not make the others cheaper: they count as
 * much as the average one.
 */
function billedOf({ meter, billed }: BillGroup, rows: readonly UsageRow[], used: bigint): bigint {
  const requests = sum(rows.map((row) => row.requests));
  if (countsWorkers(meter) || billed === undefined || billed === 0n || billed >= requests) return used;
  return (used * billed) / requests;
}

/** What the bills pay for beyond the observed usage, in the unit of the meter. */
function restOf(meter: Meter, rows: readonly UsageRow[], billed: bigint | undefined): bigint {
  if (billed === undefined) return 0n;
  const used = sum(rows.map(({ quantity }) => quantity));
  if (countsWorkers(meter)) return billed > used ? billed - used : 0n;
  const requests = sum(rows.map((row) => row.requests));
  // A request that no job explains counts as much as the average one.
  return requests > 0n && billed > requests ? (used * (billed - requests)) / requests : 0n;
}

const sum = (values: readonly bigint[]): bigint => values.reduce((total, value) => total + value, 0n);

function addShare(shares: Map<string, Share>, share: Share): void {
  const id = `${share.namespace}/${share.object}/${share.created}`;
  const known = shares.get(id);
  if (known === undefined) shares.set(id, { ...share });
  else known.amount += share.amount;
}

function sorted(shares: ReadonlyMap<string, Share>): Share[] {
  return [...shares]
    .filter(([, { amount }]) => amount !== 0n)
    .sort(([a, one], [b, other]) =>
      one.amount === other.amount ? (a < b ? -1 : 1) : one.amount > other.amount ? -1 : 1,
    )
    .map(([, share]) => share);
}

/** `YYYY-MM-DD`. */
export function dayName({ year, month, day }: CalendarDay): string {
  const two = (value: number) => String(value).padStart(2, "0");
  return `${year}-${two(month)}-${two(day)}`;
}

/** Every offset from UTC is a multiple of it, seconds. */
const QUARTER = 15 * 60;

/** The day of a time as `dayName` has it. A year of bills has few different times, and a calendar computation is slow. */
export function rememberDays(zone: SplitOptions["zone"]): (time: number) => string {
  const days = new Map<number, string>();
  return (time) => {
    const slot = Math.floor(time / QUARTER);
    const day = days.get(slot) ?? dayName(zone.dayOf(time));
    days.set(slot, day);
    return day;
  };
}

type Priced = Pick<Bill, "amount" | "pricePrecision" | "discountPrices" | "basePrices" | "usage">;

const SECONDS_PER_HOUR = 3_600n;
const PRICE = /^(\d{1,30})(?:\.(\d{1,20}))?$/;

/** The card-seconds that a GPU bill pays for: its amount divided by its price. undefined: it shows no price or no amount. */
export function billedCardSeconds(bill: Priced): bigint | undefined {
  const price = cardPrice(bill);
  return price === undefined || bill.amount === undefined ? undefined : (bill.amount * price.quantity) / price.amount;
}

/**
 * What a GPU bill says that card-seconds cost: the discounted price per card and hour, else the list price, else usage field 0
 * (interface: "For GPU, field 0 is a unit price per card per hour").
 */
function cardPrice({ pricePrecision, ...prices }: Priced): Omit<Price, "asOf"> | undefined {
  if (pricePrecision === undefined || !Number.isSafeInteger(pricePrecision) || pricePrecision <= 0) return undefined;
  const { discountPrices, basePrices, usage } = prices;
  for (const text of [discountPrices[0], basePrices[0], usage[0]]) {
    const [, whole = "", part = ""] = PRICE.exec(text?.trim() ?? "") ?? [];
    const price = BigInt(`0${whole}${part}`);
    if (price === 0n) continue;
    // The price is price / 10000 / pricePrecision yuan, and an amount is in 1/10000 yuan.
    return { amount: price, quantity: BigInt(pricePrecision) * SECONDS_PER_HOUR * 10n ** BigInt(part.length) };
  }
  return undefined;
}

/**
 * Splits an amount in proportion to weights by the largest-remainder method. The parts add up exactly to the amount, and each
 * part differs from its exact share by less than one unit. Parts with equal remainders get a unit in the order of the weights.
 * @param weights 0 or more; at least one above 0
 */
export function apportion(amount: Money, weights: readonly bigint[]): Money[] {
  const total = weights.reduce((sum, weight) => sum + weight, 0n);
  if (total <= 0n) throw new Error("an amount needs at least one weight above 0");
  const [magnitude, sign] = amount < 0n ? [-amount, -1n] : [amount, 1n];

  const parts = weights.map((weight) => (magnitude * weight) / total);
  const remainders = weights.map((weight, index) => ({ index, remainder: (magnitude * weight) % total }));
  const left = Number(magnitude - parts.reduce((sum, part) => sum + part, 0n));
  remainders.sort((a, b) => (a.remainder === b.remainder ? a.index - b.index : a.remainder > b.remainder ? -1 : 1));
  for (const { index } of remainders.slice(0, left)) parts[index] = (parts[index] ?? 0n) + 1n;

  return parts.map((part) => part * sign);
}
