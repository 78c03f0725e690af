/**
 * A queue whose groups take turns: first in, first out within a group, and one entry of each group per round. So one
 * group's thousands never delay another group's first entry. Every method takes constant time (`push`, `remove` and
 * `shift` amortized), except `first`, `shiftLongest` and the groups that are passed over.
 */
export type FairQueue<T> = {
  /** Adds an entry at the end of its group. @throws Error when the queue has an entry of this key */
  push(group: string, key: string, value: T): void;
  get(key: string): T | undefined;
  /** Whether the entry was in the queue. */
  remove(key: string): boolean;
  /**
   * The entry that goes next. A group whose first entry is not allowed is passed over. Default: all are allowed. With `rank`, groups with
   * a lower rank go first, and take turns among themselves.
   */
  peek(allows?: Allows<T>, rank?: (value: T) => number): { key: string; value: T } | undefined;
  /** Removes the entry that goes next; its group goes again after all others. */
  shift(allows?: Allows<T>, rank?: (value: T) => number): { key: string; value: T } | undefined;
  /** Removes the first entry of the group that has the most. */
  shiftLongest(): { key: string; value: T } | undefined;
  /**
   * How many entries of its own group go before it, 0 for the first. Entries that were removed from between count until
   * the queue has passed them.
   */
  ahead(key: string): number;
  /** The values of at most `count` entries, group by group. */
  first(count: number): T[];
  size(): number;
};

/** Whether the entry may go now. Asked for the first entry of each group. */
export type Allows<T> = (value: T) => boolean;

type Entry<T> = { key: string; value: T; group: Group<T>; index: number };
/** `entries` has no entry before `head`; a removed entry is undefined. `passed`: entries that were cut off the front. */
type Group<T> = { name: string; entries: (Entry<T> | undefined)[]; head: number; passed: number; size: number };

/** Below this length the front of a group is not worth cutting off. */
const CUT_FROM = 64;

export function createFairQueue<T>(): FairQueue<T> {
  const entries = new Map<string, Entry<T>>();
  /** In the order of their turns; none is empty. */
  const groups = new Map<string, Group<T>>();

  function firstOf(group: Group<T>): Entry<T> | undefined {
    return group.entries[group.head];
  }

  function remove(key: string): boolean {
    const entry = entries.get(key);
    if (entry === undefined) return false;
    entries.delete(key);
    const { group } = entry;
    group.size--;
    group.entries[entry.index - group.passed] = undefined;
    skipRemoved(group);
    if (firstOf(group) === undefined) groups.delete(group.name);
    return true;
  }

  function peek(allows: Allows<T> = () => true, rank?: (value: T) => number): Entry<T> | undefined {
    let best: Entry<T> | undefined;
    let least = Number.POSITIVE_INFINITY;
    for (const group of groups.values()) {
      const first = firstOf(group);
      if (first === undefined) continue;
      const own = rank?.(first.value) ?? 0;
      if (own >= least || !allows(first.value)) continue;
      best = first;
      least = own;
      if (rank === undefined) break;
    }
    return best;
  }

  return {
    push(name, key, value) {
      if (entries.has(key)) throw new Error(`the queue has an entry ${key} already`);
      const group = groups.get(name) ?? { name, entries: [], head: 0, passed: 0, size: 0 };
      const entry = { key, value, group, index: group.passed + group.entries.length };
      groups.set(name, group);
      group.entries.push(entry);
      group.size++;
      entries.set(key, entry);
    },
    get: (key) => entries.get(key)?.value,
    remove,
    peek,
    shift(allows, rank) {
      const entry = peek(allows, rank);
      if (entry === undefined) return undefined;
      const { group } = entry;
      groups.delete(group.name);
      groups.set(group.name, group); // to the end: the other groups go first
      remove(entry.key);
      return entry;
    },
    shiftLongest() {
      let longest: Group<T> | undefined;
      for (const group of groups.values()) if (group.size > (longest?.size ?? 0)) longest = group;
      const entry = longest && firstOf(longest);
      if (entry !== undefined) remove(entry.key);
      return entry;
    },
    ahead(key) {
      const entry = entries.get(key);
      return entry === undefined ? 0 : entry.index - entry.group.passed - entry.group.head;
    },
    first(count) {
      const values: T[] = [];
      for (const group of groups.values()) {
        for (let i = group.head; i < group.entries.length && values.length < count; i++) {
          const entry = group.entries[i];
          if (entry !== undefined) values.push(entry.value);
        }
      }
      return values;
    },
    size: () => entries.size,
  };
}

/** Moves the head to the next entry that is left, and cuts the front off when it is most of the array. */
function skipRemoved<T>(group: Group<T>): void {
  while (group.head < group.entries.length && group.entries[group.head] === undefined) group.head++;
  if (group.head < CUT_FROM || group.head * 2 < group.entries.length) return;
  group.entries.splice(0, group.head);
  group.passed += group.head;
  group.head = 0;
}

/** `urgent` entries go first, but for the share of the `routine` ones. */
export type Lane = "urgent" | "routine";

/** Two fair queues. Groups take turns in each lane. */
export type LanedQueue<T> = {
  /** @throws Error when the queue has an entry of this key */
  push(lane: Lane, key: string, value: T): void;
  /** Moves an entry to the end of another lane. An entry that is not in the queue, or in this lane, stays. */
  move(lane: Lane, key: string): void;
  remove(key: string): void;
  /** As `FairQueue.shift`. */
  shift(allows?: Allows<T>): { key: string; value: T } | undefined;
  size(): number;
};

/** @param routineEvery one in so many entries is routine, however many are urgent */
export function createLanedQueue<T>(routineEvery: number, groupOf: (key: string, value: T) => string): LanedQueue<T> {
  const lanes = { urgent: createFairQueue<T>(), routine: createFairQueue<T>() };
  let urgentInARow = 0;
  const push = (lane: Lane, key: string, value: T) => lanes[lane].push(groupOf(key, value), key, value);

  return {
    push,
    move(lane, key) {
      const other = lanes[lane === "urgent" ? "routine" : "urgent"];
      const value = other.get(key);
      if (value === undefined) return;
      other.remove(key);
      push(lane, key, value);
    },
    remove(key) {
      lanes.urgent.remove(key);
      lanes.routine.remove(key);
    },
    shift(allows) {
      const urgent = () => lanes.urgent.shift(allows);
      const routine = () => {
        const entry = lanes.routine.shift(allows);
        if (entry !== undefined) urgentInARow = -1;
        return entry;
      };
      const entry = urgentInARow >= routineEvery - 1 ? (routine() ?? urgent()) : (urgent() ?? routine());
      if (entry !== undefined) urgentInARow++;
      return entry;
    },
    size: () => lanes.urgent.size() + lanes.routine.size(),
  };
}
