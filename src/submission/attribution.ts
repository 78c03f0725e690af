import type { Money } from "../base/money.ts";
import type { Operation } from "../provider/operations.ts";

/** How many tasks of each operation are in flight. */
export type TaskCounts = ReadonlyMap<Operation, number>;

/**
 * How a task ended. `Seen`: its end was observed. `Unseen`: it may still run, and nobody observes it, as after a request
 * with an unknown outcome.
 */
export type TaskEnd = "Seen" | "Unseen";

export type CostOf = (operation: Operation) => Money | undefined;

export type Ended = {
  operation: Operation;
  end: TaskEnd;
  /** Monotonic ms. */
  endedAt: number;
  /** ms since the epoch. */
  time: number;
  lenient: boolean;
  /** The amount that was attributed to it, by book. Undefined: none yet. Tasks can wait for a bill by the thousand. */
  shown: Map<string, Money> | undefined;
};

/** What a book has shown of a task. */
export const shownOf = ({ shown }: Ended, book: string): Money => shown?.get(book) ?? 0n;

/** Places and ended tasks by operation. */
export function countsOf(inFlight: TaskCounts, tasks: readonly Ended[]): Map<Operation, number> {
  const counts = new Map(inFlight);
  for (const { operation } of tasks) counts.set(operation, (counts.get(operation) ?? 0) + 1);
  return counts;
}

/** What is left of a rise that shows before the end of the tasks in flight, at most their cost. */
export function advance(inFlight: TaskCounts, left: Money, costOf: CostOf): Money {
  const operations = [...inFlight.keys()];
  if (operations.some((operation) => costOf(operation) === undefined)) return left;
  const most = reservedBy(inFlight, costOf);
  return left < most ? left : most;
}

/** Attributes an amount to the tasks. Returns the rest. */
export function show(tasks: readonly Ended[], book: string, rise: Money, costOf: CostOf): Money {
  const add = (task: Ended, amount: Money) => {
    task.shown = (task.shown ?? new Map<string, Money>()).set(book, shownOf(task, book) + amount);
  };
  let left = rise;
  const unknown: Ended[] = [];
  for (const task of tasks) {
    const cost = costOf(task.operation);
    if (cost === undefined) {
      unknown.push(task);
      continue;
    }
    const missing = cost - shownOf(task, book);
    const amount = missing < left ? missing : left;
    if (amount > 0n) add(task, amount);
    left -= amount > 0n ? amount : 0n;
  }
  if (left <= 0n || new Set(unknown.map(({ operation }) => operation)).size !== 1) return left;
  const count = BigInt(unknown.length);
  for (const task of unknown) add(task, (left + count - 1n) / count);
  return 0n;
}

/** A task of unknown cost counts as 0. */
export function reservedBy(counts: TaskCounts, costOf: CostOf): Money {
  return [...counts].reduce((sum, [one, count]) => sum + (costOf(one) ?? 0n) * BigInt(count), 0n);
}

/** The highest amount that a book has shown of one of the tasks. */
export function highest(tasks: readonly Ended[]): Money {
  const amounts = tasks.flatMap(({ shown }) => [...(shown?.values() ?? [])]);
  return amounts.reduce((most, amount) => (amount > most ? amount : most), 0n);
}

/** The highest cost that was seen of one task of each operation. */
export type TaskCosts = {
  /** undefined: none was seen yet. */
  of(operation: Operation): Money | undefined;
  /** Tasks that had ended when the account's cost rose: a known cost is raised to their share of it. */
  raise(tasks: readonly { operation: Operation }[], rise: Money): void;
  /** What was attributed to a task until its charge was not expected any more, by book. */
  seen(operation: Operation, shown: Iterable<Money>): void;
};

export function createTaskCosts(): TaskCosts {
  const costs = new Map<Operation, Money>();

  function atLeast(operation: Operation, cost: Money): void {
    if (cost > (costs.get(operation) ?? 0n)) costs.set(operation, cost);
  }

  return {
    of: (operation) => costs.get(operation),
    raise(tasks, rise) {
      const [operation, ...others] = new Set(tasks.map((task) => task.operation));
      if (operation === undefined || others.length > 0 || !costs.has(operation)) return;
      const count = BigInt(tasks.length);
      atLeast(operation, (rise + count - 1n) / count);
    },
    seen(operation, shown) {
      for (const amount of shown) atLeast(operation, amount);
    },
  };
}
