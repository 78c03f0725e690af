import type { Clock } from "../clock.ts";
import { formatYuan, type Money } from "../money.ts";
import type { Operation } from "../provider/operations.ts";
import type { Allowance, BookReading } from "./allowance.ts";
import { createTaskCosts } from "./task-costs.ts";

/** Why the budget holds a task back. */
export type BudgetRefusal = { reason: "BudgetExceeded" | "BudgetUnknown"; message: string };

/** How many tasks of each operation are in flight. */
export type TaskCounts = ReadonlyMap<Operation, number>;

/**
 * How a task ended. `Seen`: its end was observed. `Unseen`: it may still run, and nobody observes it, as after a request
 * with an unknown outcome.
 */
export type TaskEnd = "Seen" | "Unseen";

/**
 * What tasks reserve of one account's budget. A task reserves its cost from its admission until its charge is attributed
 * to it. The cost is `budget.reservePerTask`, or else the highest cost that was seen of one task of the operation.
 *
 * # Attribution
 * A rise of a book goes to the tasks that had ended when its reading began, the longest ended first, each up to its cost.
 * A reservation ends when every book that the budget counts has shown its cost. What others spend is therefore taken for
 * the cost of a task at most up to that cost.
 *
 * # Time
 * A charge that does not show is not expected any more in a reading that begins 60 s after the end of the task, or
 * 15 min after an end that was not seen.
 *
 * # While no cost is known
 * Tasks go one at a time. The first rise after a task lets a second one go. The third goes when the 60 s of the first are
 * over: what the books rose by in that time is the cost, so that a small rise of another cause is not taken for it.
 */
export type Reservations = {
  /** Whether the budget holds back one more task of the operation. */
  refusal(operation: Operation, inFlight: TaskCounts, allowance: Allowance): BudgetRefusal | undefined;
  /** A task has ended and may be charged. `agoMs`: how long ago; default 0. */
  settle(operation: Operation, end: TaskEnd, agoMs?: number): void;
  /** The account's money was read. `readings`: every book that the budget counts. */
  moneyRead(readings: readonly BookReading[], reserve: Money | undefined): void;
  /** Whether a charge is expected soon. */
  settling(): boolean;
};

type Ended = {
  operation: Operation;
  /** Monotonic ms. */
  endedAt: number;
  end: TaskEnd;
  /** What was attributed to it, by book. */
  shown: Map<string, Money>;
};

/** How long after the end of a task its charge is expected. */
export const CHARGE_SHOWS_MS: Record<TaskEnd, number> = { Seen: 60_000, Unseen: 15 * 60_000 };

export function createReservations(clock: Clock): Reservations {
  const costs = createTaskCosts();
  let ended: Ended[] = [];
  let books: readonly BookReading[] = [];
  const lastReadings = new Map<string, BookReading>();

  const isPastCharge = ({ end, endedAt }: Ended, { startedAt }: BookReading) =>
    startedAt - endedAt > CHARGE_SHOWS_MS[end];

  /** Whether every book has shown the cost, or does not show it any more. */
  function isBilled(task: Ended, cost: Money | undefined): boolean {
    return books.every(
      (reading) => isPastCharge(task, reading) || (cost !== undefined && (task.shown.get(reading.book) ?? 0n) >= cost),
    );
  }

  /** A task of unknown cost for which every book has shown something: its cost may be more than that. */
  function isOnTrial(task: Ended, cost: Money | undefined): boolean {
    if (cost !== undefined || books.length === 0) return false;
    return books.every((reading) => isPastCharge(task, reading) || (task.shown.get(reading.book) ?? 0n) > 0n);
  }

  function attribute({ book, startedAt }: BookReading, rise: Money, reserve: Money | undefined): void {
    const tasks = ended.filter(({ endedAt }) => endedAt < startedAt);
    costs.raise(tasks, rise);
    const show = (task: Ended, amount: Money) => task.shown.set(book, (task.shown.get(book) ?? 0n) + amount);
    let left = rise;
    const unknown: Ended[] = [];
    for (const task of tasks) {
      const cost = reserve ?? costs.of(task.operation);
      if (cost === undefined) {
        unknown.push(task);
        continue;
      }
      const missing = cost - (task.shown.get(book) ?? 0n);
      const amount = missing < left ? missing : left;
      if (amount > 0n) show(task, amount);
      left -= amount > 0n ? amount : 0n;
    }
    if (left <= 0n || new Set(unknown.map(({ operation }) => operation)).size !== 1) return;
    const count = BigInt(unknown.length);
    for (const task of unknown) show(task, (left + count - 1n) / count);
  }

  return {
    refusal(operation, inFlight, { budget, reserve }) {
      if (budget === undefined || budget.kind === "Unlimited") return undefined;
      if (budget.kind === "Unknown") return { reason: "BudgetUnknown", message: budget.message };
      if (budget.headroom <= 0n) return { reason: "BudgetExceeded", message: budget.message };
      const costOf = (one: Operation) => reserve ?? costs.of(one);
      const counts = new Map(inFlight);
      const onTrial: Ended[] = [];
      for (const task of ended) {
        if (isOnTrial(task, costOf(task.operation))) onTrial.push(task);
        else counts.set(task.operation, (counts.get(task.operation) ?? 0) + 1);
      }
      const cost = costOf(operation);
      const least = cost ?? highest(onTrial.filter((task) => task.operation === operation));
      if (least > budget.headroom) return { reason: "BudgetExceeded", message: tooMuch(budget.message, least) };
      if (cost === undefined || [...counts.keys()].some((one) => costOf(one) === undefined)) {
        return counts.size === 0 && onTrial.length <= 1
          ? undefined
          : { reason: "BudgetExceeded", message: COST_UNKNOWN };
      }
      const reserved = [...counts].reduce((sum, [one, count]) => sum + (costOf(one) ?? 0n) * BigInt(count), 0n);
      return reserved + cost <= budget.headroom ? undefined : { reason: "BudgetExceeded", message: RESERVED };
    },
    settle: (operation, end, agoMs = 0) =>
      void ended.push({ operation, endedAt: clock.monotonic() - agoMs, end, shown: new Map() }),
    moneyRead(readings, reserve) {
      for (const reading of readings) {
        const last = lastReadings.get(reading.book);
        if (last?.startedAt === reading.startedAt) continue; // another book was read
        const rise = reading.used === undefined || last?.used === undefined ? 0n : reading.used - last.used;
        if (rise > 0n) attribute(reading, rise, reserve);
        lastReadings.set(reading.book, { ...reading, used: reading.used ?? last?.used });
      }
      books = readings;
      for (const book of lastReadings.keys()) {
        if (!books.some((reading) => reading.book === book)) lastReadings.delete(book);
      }
      ended = ended.filter((task) => {
        if (!isBilled(task, reserve ?? costs.of(task.operation))) return true;
        costs.seen(task.operation, task.shown.values());
        return false;
      });
    },
    settling: () => ended.some(({ end }) => end === "Seen"),
  };
}

const COST_UNKNOWN =
  "The cost of a task is not known yet, so tasks run one at a time: wait, or set budget.reservePerTask on the account";
const RESERVED = "Tasks whose cost is not billed yet reserve the rest of the budget";

function tooMuch(left: string, cost: Money): string {
  return `A task reserves ${formatYuan(cost)} yuan, which is more than is left: ${left}`;
}

/** The highest amount that a book has shown of one of the tasks. */
function highest(tasks: readonly Ended[]): Money {
  const amounts = tasks.flatMap(({ shown }) => [...shown.values()]);
  return amounts.reduce((most, amount) => (amount > most ? amount : most), 0n);
}
