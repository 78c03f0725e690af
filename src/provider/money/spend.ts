import type { Logger } from "pino";
import type { Clock } from "../../base/clock.ts";
import type { Money } from "../../base/money.ts";
import type { ServiceClient } from "../client.ts";
import type { Operation } from "../operations.ts";
import { type BillReader, createBillReader } from "./bill-reader.ts";
import { createMoneyReader, type MoneyReader } from "./money-reader.ts";
import type { Bill } from "./money-records.ts";
import { billsOfPeriod } from "./period.ts";
import { billsBegin, currentPeriods, type TimeRange } from "./ranges.ts";
import { rowOf } from "./tally.ts";
import { type TimeZone, timeZone } from "./time-zone.ts";

/** Account.spec.billing, read. */
export type BillingSettings = {
  intervalMs: number;
  timeZone: string;
  settleMs: number;
  /** Product IDs and names whose bills pay for an operation, besides the names of the models. */
  products?: readonly { operation: Operation; product: string }[] | undefined;
};

/**
 * What the account costs: the sums of the bills' amounts, vouchers included. A sum over a bill whose amount cannot be read
 * is undefined, never too small.
 */
export type Spend = {
  day: Money | undefined;
  /** From Monday. */
  week: Money | undefined;
  month: Money | undefined;
  /** Of the month. A category with an amount that cannot be read is left out. */
  byCategory: ReadonlyMap<string, Money>;
  /** Bills of the month whose amount cannot be read. */
  unreadable: number;
  /** Start of that month, Unix seconds: tells a new month from a refund. */
  monthStart: number;
  /** When the bills were read, ms. */
  atMs: number;
};

/** Takes the bills of the current month while they are read. */
export type BillCollector = {
  add(bill: Bill): void;
  /** All bills of the month were added. Not called when the reading fails. */
  complete(): void;
};

/** Begins to collect the bills of a month. undefined: they are not wanted. It never rejects, except when the signal aborts. */
export type CollectMonth = (
  month: TimeRange,
  zone: TimeZone,
  signal: AbortSignal,
) => Promise<BillCollector | undefined>;

/** `Settling`: the cost of finished tasks has not shown yet. `Waiting`: paid work waits for the budget. */
export type Urgency = "Settling" | "Waiting" | "None";

/** Read before each use: a change takes effect at once. */
export type MoneySettings = {
  billing: () => BillingSettings;
  /** Whether bills and budgets are read: false makes no call. */
  wanted: () => boolean;
  /** Whose key budgets are read; undefined: none are. */
  memberID: () => string | undefined;
  /** Why new bills are needed soon. */
  billsUrgency: () => Urgency;
  /** The same for key budgets. */
  budgetsUrgency: () => Urgency;
};

export type MoneyOptions<Call extends keyof ServiceClient> = {
  client: Pick<ServiceClient, Call>;
  settings: MoneySettings;
  /** Bills or budgets were read. */
  onRead: () => void;
  onFailed: () => void;
  /** Default: nothing is collected. */
  collectMonth?: CollectMonth | undefined;
  clock: Clock;
  log: Logger;
};

const HURRY_MS = 60_000;
const IDLE_MS = 1_000;
const RETRY_MS = 5 * 60_000;

/** Reads the bills of an account at an interval and sums them. */
export function createAccountBills(
  options: MoneyOptions<"listBills">,
): MoneyReader<Spend> & { readonly reader: BillReader } {
  const { clock, settings } = options;
  const reader = createBillReader({ client: options.client, clock });
  const spend = createMoneyReader({
    ...options,
    what: "bills",
    dueInMs(agoMs, failed) {
      if (!settings.wanted()) return IDLE_MS;
      const pauseMs = failed ? RETRY_MS : settings.billsUrgency() === "None" ? Number.POSITIVE_INFINITY : HURRY_MS;
      return Math.min(pauseMs, settings.billing().intervalMs) - agoMs;
    },
    read: (signal) =>
      readSpend({ reader, ...settings.billing(), nowMs: clock.now(), collect: options.collectMonth, signal }),
  });
  return { ...spend, reader };
}

type SpendRequest = BillingSettings & {
  reader: BillReader;
  nowMs: number;
  collect: CollectMonth | undefined;
  signal: AbortSignal;
};

async function readSpend({ reader, settleMs, nowMs, collect, signal, ...settings }: SpendRequest): Promise<Spend> {
  const zone = timeZone(settings.timeZone);
  const now = Math.floor(nowMs / 1000);
  const { day, week, month } = currentPeriods(now, zone);
  const period = { startTime: Math.max(Math.min(week, month), billsBegin(zone)), endTime: now + 1 };
  const closedBefore = now - settleMs / 1000;
  const sums = { day: createSum(), week: createSum(), month: createSum() };
  const byCategory = new Map<string, Sum>();
  const collector = await collect?.({ startTime: month, endTime: period.endTime }, zone, signal);
  for await (const bills of billsOfPeriod({ reader, query: { cycle: "Day" }, period, zone, closedBefore, signal })) {
    for (const bill of bills) {
      const { startTime = now, amount, category } = bill;
      if (startTime >= day) sums.day.add(amount);
      if (startTime >= week) sums.week.add(amount);
      if (startTime < month) continue;
      sums.month.add(amount);
      collector?.add(bill);
      const row = rowOf(byCategory, category);
      const ofCategory = byCategory.get(row) ?? createSum();
      byCategory.set(row, ofCategory);
      ofCategory.add(amount);
    }
  }
  collector?.complete();
  return {
    day: sums.day.total(),
    week: sums.week.total(),
    month: sums.month.total(),
    byCategory: new Map(
      [...byCategory].flatMap(([category, sum]): [string, Money][] => {
        const total = sum.total();
        return total === undefined ? [] : [[category, total]];
      }),
    ),
    unreadable: sums.month.unreadable(),
    monthStart: month,
    atMs: nowMs,
  };
}

type Sum = {
  add(amount: Money | undefined): void;
  /** undefined: an amount cannot be read. */
  total(): Money | undefined;
  unreadable(): number;
};

function createSum(): Sum {
  let total = 0n;
  let unreadable = 0;
  return {
    add(amount) {
      if (amount === undefined) unreadable++;
      else total += amount;
    },
    total: () => (unreadable === 0 ? total : undefined),
    unreadable: () => unreadable,
  };
}
