/**
 * A number of units (slots, bytes of memory) that groups share. Takers wait in order within their group, groups take
 * turns, and no group has more than its share. So one group's thousands never delay another group's first taker by more
 * than a turn.
 */
export type FairPool = {
  /**
   * Resolves when so many units are free; the returned function gives them back, once. More than the share of a group
   * counts as the whole share. @throws the signal's reason while it waits
   */
  take(group: string, units: number, signal: AbortSignal): Promise<() => void>;
  inUse(): number;
  /** Whether a taker waits. */
  contested(): boolean;
};

type Waiter = { units: number; enter: () => void };

/** @param perGroup most units of one group; default: all */
export function createFairPool({ capacity, perGroup = capacity }: { capacity: number; perGroup?: number }): FairPool {
  /** Groups with waiters, in the order of their turns. */
  const lines = new Map<string, Waiter[]>();
  const usedBy = new Map<string, number>();
  let used = 0;

  function count(group: string, units: number): void {
    used += units;
    const now = (usedBy.get(group) ?? 0) + units;
    if (now === 0) usedBy.delete(group);
    else usedBy.set(group, now);
  }

  /** The group whose turn it is. A group with its whole share is passed over; another one is waited for. */
  function nextGroup(): [string, Waiter[]] | undefined {
    for (const [group, line] of lines) {
      const units = line[0]?.units ?? 0;
      if ((usedBy.get(group) ?? 0) + units > perGroup) continue;
      return used + units <= capacity ? [group, line] : undefined;
    }
    return undefined;
  }

  function admit(): void {
    for (let next = nextGroup(); next !== undefined; next = nextGroup()) {
      const [group, line] = next;
      const waiter = line.shift();
      lines.delete(group);
      if (line.length > 0) lines.set(group, line); // to the end: the other groups go first
      count(group, waiter?.units ?? 0);
      waiter?.enter();
    }
  }

  function leave(group: string, waiter: Waiter): void {
    const line = lines.get(group) ?? [];
    line.splice(line.indexOf(waiter), 1);
    if (line.length === 0) lines.delete(group);
    admit();
  }

  return {
    inUse: () => used,
    contested: () => lines.size > 0,
    async take(group, wanted, signal) {
      signal.throwIfAborted();
      const units = Math.min(wanted, perGroup);
      await new Promise<void>((resolve, reject) => {
        const onAbort = () => {
          leave(group, waiter);
          reject(signal.reason);
        };
        const waiter = {
          units,
          enter: () => {
            signal.removeEventListener("abort", onAbort);
            resolve();
          },
        };
        signal.addEventListener("abort", onAbort, { once: true });
        const line = lines.get(group) ?? [];
        line.push(waiter);
        lines.set(group, line);
        admit();
      });
      let held = true;
      return () => {
        if (!held) return;
        held = false;
        count(group, -units);
        admit();
      };
    },
  };
}
