/** A call that waits for its turn. */
export type Waiter = { readonly priority: number; readonly sequence: number; go(): void };

/** Waiters of one operation, kept by priority and arrival. */
export type WaitingLine = {
  push(waiter: Waiter): void;
  remove(waiter: Waiter): void;
  /** The first by priority then arrival; with `oldest`, by arrival alone. */
  peek(oldest: boolean): Waiter | undefined;
  shift(oldest: boolean): Waiter | undefined;
  size(): number;
};

export function createWaitingLine(): WaitingLine {
  // A Set keeps the order of arrival and forgets a waiter in constant time.
  const levels = new Map<number, Set<Waiter>>();
  let size = 0;

  const peek = (oldest: boolean): Waiter | undefined => {
    let best: Waiter | undefined;
    for (const level of levels.values()) {
      const [first] = level;
      if (first === undefined) continue;
      if (best === undefined || (oldest ? first.sequence < best.sequence : first.priority > best.priority))
        best = first;
    }
    return best;
  };
  const remove = (waiter: Waiter) => {
    const level = levels.get(waiter.priority);
    if (level?.delete(waiter) !== true) return;
    size -= 1;
    if (level.size === 0) levels.delete(waiter.priority);
  };
  return {
    push: (waiter) => {
      const level = levels.get(waiter.priority) ?? new Set();
      levels.set(waiter.priority, level.add(waiter));
      size += 1;
    },
    remove,
    peek,
    shift: (oldest) => {
      const waiter = peek(oldest);
      if (waiter !== undefined) remove(waiter);
      return waiter;
    },
    size: () => size,
  };
}
