import type { Money } from "../money.ts";
import type { Operation } from "../provider/operations.ts";

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
