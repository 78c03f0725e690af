import type { JournalEntry } from "../submission/journal.ts";

/**
 * The entries whose objects this process can see. It knows nothing of an object in another namespace: that object may exist,
 * and its entry stays in the journal for an operator that watches the namespace.
 * @param namespaces the watched namespaces; empty for all
 */
export function entriesIn(entries: readonly JournalEntry[], namespaces: readonly string[]): JournalEntry[] {
  if (namespaces.length === 0) return [...entries];
  return entries.filter(({ key }) => namespaces.includes(key.slice(0, key.indexOf("/"))));
}
