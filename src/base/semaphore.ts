import { inLine } from "./clock.ts";
import { createFairQueue } from "./fair-queue.ts";

/**
 * A number of units (slots, bytes of memory) that groups share. Takers wait in order within their group, groups take
 * turns, and no group has more than its share. So one group's thousands never delay another group's first taker by more
 * than a turn.
 */
export type Semaphore = {
  /**
   * Resolves when so many units are free; the returned function gives them back, once. More than the share of a group
   * counts as the whole share. @throws the signal's reason while it waits
   */
  take(group: string, units: number, signal: AbortSignal): Promise<() => void>;
  /** As `take`; undefined when it would have to wait. */
  tryTake(group: string, units: number): (() => void) | undefined;
  inUse(): number;
  /** Whether a taker waits. */
  contested(): boolean;
};

type UnitsTaker = { group: string; units: number; enter(release: () => void): void };

/** @param perGroup most units of one group; default: all */
export function createSemaphore({ capacity, perGroup = capacity }: { capacity: number; perGroup?: number }): Semaphore {
  const waiting = createFairQueue<UnitsTaker>();
  const usedBy = new Map<string, number>();
  let used = 0;
  let asked = 0;

  /** Skips a group that has its whole share. */
  const inShare = ({ group, units }: Pick<UnitsTaker, "group" | "units">) =>
    (usedBy.get(group) ?? 0) + units <= perGroup;

  function count(group: string, units: number): void {
    used += units;
    const now = (usedBy.get(group) ?? 0) + units;
    if (now === 0) usedBy.delete(group);
    else usedBy.set(group, now);
  }

  function hold({ group, units }: Pick<UnitsTaker, "group" | "units">): () => void {
    count(group, units);
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      count(group, -units);
      admit();
    };
  }

  function admit(): void {
    for (let next = waiting.peek(inShare); next !== undefined; next = waiting.peek(inShare)) {
      if (used + next.value.units > capacity) return;
      waiting.shift(inShare);
      next.value.enter(hold(next.value));
    }
  }

  return {
    inUse: () => used,
    contested: () => waiting.size() > 0,
    tryTake(group, wanted) {
      const one = { group, units: Math.min(wanted, perGroup) };
      const isFree = inShare(one) && used + one.units <= capacity && waiting.peek(inShare) === undefined;
      return isFree ? hold(one) : undefined;
    },
    take: (group, wanted, signal) =>
      inLine(signal, (enter) => {
        const key = String(asked++);
        waiting.push(group, key, { group, units: Math.min(wanted, perGroup), enter });
        admit();
        return () => {
          waiting.remove(key);
          admit();
        };
      }),
  };
}
