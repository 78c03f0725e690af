import type { Logger } from "pino";
import type { Clock } from "../../base/clock.ts";
import type { ServiceClient } from "../client.ts";
import type { AccountMoney } from "../types.ts";
import { createBudgetReader, type Urgency } from "./budget-reader.ts";
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
