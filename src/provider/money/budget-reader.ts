import type { Logger } from "pino";
import type { Clock } from "../../base/clock.ts";
import type { ServiceClient } from "../client.ts";
import { createMoneyReader, type MoneyReader } from "./money-reader.ts";
import type { KeyBudget } from "./money-records.ts";

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
