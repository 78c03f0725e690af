import type { Logger } from "pino";
import type { Clock } from "../../base/clock.ts";
import type { ServiceClient } from "../client.ts";
import type { AccountMoney } from "../types.ts";
import { createMoneyReader, type MoneyReader } from "./money-reader.ts";
import type { KeyBudget } from "./money-records.ts";
import { billsOfPeriod } from "./period.ts";
import { type BillingSettings, type CollectMonth, createAccountBills } from "./spend.ts";

/** Read before each use: a change takes effect at once. */
export type MoneySettings = {
  billing: () => BillingSettings;
  /** Whether bills and budgets are read: false makes no call. */
  wanted: () => boolean;
  /** Whose key budgets are read; undefined: none are. */
  memberID: () => string | undefined;
  /** How soon new bills tell something that paid work waits for. */
  billsUrgency: () => Urgency;
  /** The same for key budgets. */
  budgetsUrgency: () => Urgency;
};

export type AccountMoneyOptions = {
  client: Pick<ServiceClient, "listBills" | "listKeyBudgets">;
  settings: MoneySettings;
  /** Bills or budgets were read. */
  onRead: () => void;
  onFailed: () => void;
  /** Takes the bills of the current month. Default: nothing does. */
  collectMonth?: CollectMonth | undefined;
  clock: Clock;
  log: Logger;
};

/** One reader for the bills and one for the key budgets. */
export function createAccountMoney(
  options: AccountMoneyOptions,
): AccountMoney & { start(): void; stop(): Promise<void> } {
  const { client, settings, onRead, onFailed, clock, log } = options;
  const { billing, wanted } = settings;
  const bills = createAccountBills({
    client,
    settings: billing,
    wanted,
    hurry: () => settings.billsUrgency() !== "None",
    onRead,
    onFailed,
    collectMonth: options.collectMonth,
    clock,
    log,
  });
  const budgets = createBudgetReader({
    client,
    memberID: () => (wanted() ? settings.memberID() : undefined),
    intervalMs: () => billing().intervalMs,
    urgency: settings.budgetsUrgency,
    onRead,
    onFailed,
    clock,
    log,
  });
  return {
    bills: (request) => billsOfPeriod({ reader: bills.reader, ...request }),
    spend: bills.latest,
    budgets: budgets.latest,
    lastRead: () => ({ bills: bills.lastRead(), budgets: budgets.lastRead() }),
    failures: () => ({ bills: bills.failure(), budgets: budgets.failure() }),
    settings: billing,
    start() {
      bills.start();
      budgets.start();
    },
    async stop() {
      await Promise.all([bills.stop(), budgets.stop()]);
    },
  };
}

/** `Settling`: the cost of finished tasks has not shown yet. `Waiting`: paid work waits for the budget. */
export type Urgency = "Settling" | "Waiting" | "None";

export type BudgetReaderOptions = {
  client: Pick<ServiceClient, "listKeyBudgets">;
  /** Whose budgets; undefined: no call is made. */
  memberID: () => string | undefined;
  intervalMs: () => number;
  /** How soon new budgets tell something that paid work waits for. */
  urgency: () => Urgency;
  clock: Clock;
  log: Logger;
  onRead: () => void;
  onFailed: () => void;
};

/** Between two looks at whose budgets are due. */
const IDLE_MS = 1_000;
const PAUSE_MS = { Settling: 5_000, Waiting: 60_000, None: Number.POSITIVE_INFINITY };
const RETRY_MS = 60_000;

/** Reads the key budgets of an account's member at an interval. What was read for another member does not count. */
export function createBudgetReader(options: BudgetReaderOptions): MoneyReader<readonly KeyBudget[]> {
  const { clock, client } = options;
  let readFor: string | undefined;

  /** Whether a budget's period ended since the last read: the budget is full again. */
  function renewed(agoMs: number): boolean {
    const lastRead = clock.now() - agoMs;
    return (current()?.budgets ?? []).some(({ periodEnd }) => {
      const end = Date.parse(periodEnd);
      return end > lastRead && end <= clock.now();
    });
  }

  function isDue(agoMs: number, failed: boolean): boolean {
    const memberID = options.memberID();
    if (memberID === undefined || memberID !== readFor) return memberID !== undefined;
    if (failed) return agoMs >= Math.min(RETRY_MS, options.intervalMs());
    return agoMs >= Math.min(options.intervalMs(), PAUSE_MS[options.urgency()]) || renewed(agoMs);
  }

  const reader = createMoneyReader({
    ...options,
    what: "key budgets",
    dueInMs: (agoMs, failed) => (isDue(agoMs, failed) ? 0 : IDLE_MS),
    async read(signal) {
      const memberID = options.memberID() ?? "";
      readFor = memberID;
      return { memberID, budgets: await client.listKeyBudgets({ memberID }, { signal }) };
    },
  });
  const current = () => {
    const read = reader.latest();
    return read?.memberID === options.memberID() ? read : undefined;
  };

  return {
    ...reader,
    latest: () => current()?.budgets,
    lastRead: () => (current() === undefined ? undefined : reader.lastRead()),
  };
}
