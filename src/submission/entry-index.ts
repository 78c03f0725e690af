import type { JournalEntry } from "./journal.ts";

/** Entries in the order of their arrival, found by ID, object or key without a scan. */
export type EntryIndex = {
  get(id: string): JournalEntry | undefined;
  /** Adds an entry, or replaces the one with its ID, which keeps its position. */
  set(entry: JournalEntry): void;
  /** Whether there was one. */
  delete(id: string): boolean;
  /** The oldest entry of an object. */
  find(uid: string): JournalEntry | undefined;
  of(object: Pick<JournalEntry, "kind" | "key">): JournalEntry[];
  all(): JournalEntry[];
  size(): number;
  clear(): void;
};

export function createEntryIndex(): EntryIndex {
  const entries = new Map<string, JournalEntry>();
  const byObject = createGroups();
  const byKey = createGroups();
  const keyOf = ({ kind, key }: Pick<JournalEntry, "kind" | "key">) => `${kind}/${key}`;
  const entriesOf = (ids: ReadonlySet<string> | undefined) =>
    ids === undefined ? [] : [...ids].flatMap((id) => entries.get(id) ?? []);

  function remove(id: string): boolean {
    const entry = entries.get(id);
    if (entry === undefined) return false;
    byObject.remove(entry.uid, id);
    byKey.remove(keyOf(entry), id);
    return entries.delete(id);
  }

  return {
    get: (id) => entries.get(id),
    set(entry) {
      entries.set(entry.id, entry);
      byObject.add(entry.uid, entry.id);
      byKey.add(keyOf(entry), entry.id);
    },
    delete: remove,
    find: (uid) => entriesOf(byObject.of(uid))[0],
    of: (object) => entriesOf(byKey.of(keyOf(object))),
    all: () => [...entries.values()],
    size: () => entries.size,
    clear() {
      for (const id of [...entries.keys()]) remove(id);
    },
  };
}

/** IDs by a value that several entries can share. */
function createGroups() {
  const groups = new Map<string, Set<string>>();
  return {
    of: (value: string): ReadonlySet<string> | undefined => groups.get(value),
    add(value: string, id: string): void {
      const group = groups.get(value);
      if (group === undefined) groups.set(value, new Set([id]));
      else group.add(id);
    },
    remove(value: string, id: string): void {
      const group = groups.get(value);
      group?.delete(id);
      if (group?.size === 0) groups.delete(value);
    },
  };
}
