import type { AccountMoney } from "../types.ts";
import { createMoneyReader, type MoneyReader } from "./money-reader.ts";
import type { KeyBudget } from "./money-records.ts";
import { billsOfPeriod } from "./period.ts";
import { createAccountBills, type MoneyOptions } from "./spend.ts";

/** One reader for the bills and one for the key budgets. */
export function createAccountMoney(
  options: MoneyOptions<"listBills" | "listKeyBudgets">,
): AccountMoney & { start(): void; stop(): Promise<void> } {
  const bills = createAccountBills(options);
  const budgets = createBudgetReader(options);
  return {
    bills: (request) => billsOfPeriod({ reader: bills.reader, ...request }),
    spend: bills.latest,
    budgets: budgets.latest,
    lastRead: () => ({ bills: bills.lastRead(), budgets: budgets.lastRead() }),
    failures: () => ({ bills: bills.failure(), budgets: budgets.failure() }),
    settings: options.settings.billing,
    start() {
      bills.start();
      budgets.start();
    },
    async stop() {
      await Promise.all([bills.stop(), budgets.stop()]);
    },
  };
}

/** Time between two checks whose budgets are due. */
const IDLE_MS = 1_000;
const PAUSE_MS = { Settling: 5_000, Waiting: 60_000, None: Number.POSITIVE_INFINITY };
const RETRY_MS = 60_000;

/** Reads the key budgets of an account's member at an interval. What was read for another member does not count. */
export function createBudgetReader(options: MoneyOptions<"listKeyBudgets">): MoneyReader<readonly KeyBudget[]> {
  const { clock, client, settings } = options;
  const memberID = () => (settings.wanted() ? settings.memberID() : undefined);
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
    const member = memberID();
    if (member === undefined || member !== readFor) return member !== undefined;
    const { intervalMs } = settings.billing();
    if (failed) return agoMs >= Math.min(RETRY_MS, intervalMs);
    return agoMs >= Math.min(intervalMs, PAUSE_MS[settings.budgetsUrgency()]) || renewed(agoMs);
  }

  const reader = createMoneyReader({
    ...options,
    what: "key budgets",
    dueInMs: (agoMs, failed) => (isDue(agoMs, failed) ? 0 : IDLE_MS),
    async read(signal) {
      readFor = memberID() ?? "";
      const read = { memberID: readFor };
      return { ...read, budgets: await client.listKeyBudgets(read, { signal }) };
    },
  });
  const current = () => {
    const read = reader.latest();
    return read?.memberID === memberID() ? read : undefined;
  };

  return {
    ...reader,
    latest: () => current()?.budgets,
    lastRead: () => (current() === undefined ? undefined : reader.lastRead()),
  };
}
