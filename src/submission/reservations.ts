import type { Clock } from "../clock.ts";
import type { Money } from "../money.ts";
import type { Operation } from "../provider/operations.ts";
import type { Allowance } from "./allowance.ts";

/** Why the budget holds a task back. */
export type BudgetRefusal = { reason: "BudgetExceeded" | "BudgetUnknown"; message: string };

/** How many tasks of each operation are in flight. */
export type TaskCounts = ReadonlyMap<Operation, number>;

/**
 * What tasks reserve of one account's budget. A task reserves its cost from its admission until the account's money is
 * read after its end. The cost is `budget.reservePerTask`, or the highest cost that one task of the operation had. While
 * neither is known, tasks go one at a time.
 */
export type Reservations = {
  /** Whether the budget holds back one more task of the operation. */
  refusal(operation: Operation, inFlight: TaskCounts, allowance: Allowance): BudgetRefusal | undefined;
  /** A task has ended and may be charged: it reserves its cost until the charge shows, or for 60 s. */
  settle(operation: Operation): void;
  /**
   * The account's money was read. `used`: what the account has cost in total; undefined when only a part is known.
   * `startedAt` (monotonic ms): when the reading began.
   */
  moneyRead(used: Money | undefined, startedAt: number): void;
  /** Whether tasks have ended whose cost has not shown yet. */
  settling(): boolean;
};

/** A charge that does not show within this time is not expected any more. */
const CHARGE_SHOWS_MS = 60_000;

export function createReservations(clock: Clock): Reservations {
  const costs = new Map<Operation, Money>();
  let settling: { operation: Operation; endedAt: number }[] = [];
  let lastUsed: Money | undefined;

  /** Tasks whose cost is not in the account's books yet. */
  function unbilled(inFlight: TaskCounts): Map<Operation, number> {
    const counts = new Map(inFlight);
    for (const { operation } of settling) counts.set(operation, (counts.get(operation) ?? 0) + 1);
    return counts;
  }

  return {
    refusal(operation, inFlight, { budget, reserve }) {
      if (budget === undefined || budget.kind === "Unlimited") return undefined;
      if (budget.kind === "Unknown") return { reason: "BudgetUnknown", message: budget.message };
      if (budget.headroom <= 0n) return { reason: "BudgetExceeded", message: budget.message };
      const counts = unbilled(inFlight);
      const costOf = (one: Operation) => reserve ?? costs.get(one);
      const tasks = [...counts.values()].reduce((sum, count) => sum + count, 0);
      const cost = costOf(operation);
      const known = [...counts.keys()].every((one) => costOf(one) !== undefined);
      if (cost === undefined || !known)
        return tasks === 0 ? undefined : { reason: "BudgetExceeded", message: COST_UNKNOWN };
      const reserved = [...counts].reduce((sum, [one, count]) => sum + (costOf(one) ?? 0n) * BigInt(count), 0n);
      return reserved + cost <= budget.headroom ? undefined : { reason: "BudgetExceeded", message: RESERVED };
    },
    settle: (operation) => void settling.push({ operation, endedAt: clock.monotonic() }),
    moneyRead(used, startedAt) {
      const ended = settling.filter(({ endedAt }) => endedAt < startedAt);
      const rise = used === undefined || lastUsed === undefined ? undefined : used - lastUsed;
      const shown = rise !== undefined && rise > 0n;
      const [operation, ...others] = new Set(ended.map((one) => one.operation));
      if (shown && operation !== undefined && others.length === 0) {
        const count = BigInt(ended.length);
        const each = (rise + count - 1n) / count;
        if (each > (costs.get(operation) ?? 0n)) costs.set(operation, each);
      }
      const billed = (endedAt: number) =>
        endedAt < startedAt && (shown || clock.monotonic() - endedAt > CHARGE_SHOWS_MS);
      settling = settling.filter(({ endedAt }) => !billed(endedAt));
      lastUsed = used ?? lastUsed;
    },
    settling: () => settling.length > 0,
  };
}

const COST_UNKNOWN =
  "The cost of a task is not known yet, so tasks run one at a time: wait, or set budget.reservePerTask on the account";
const RESERVED = "Tasks whose cost is not billed yet reserve the rest of the budget";
