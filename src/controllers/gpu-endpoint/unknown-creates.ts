import type { Clock } from "../../clock.ts";
import type { JournalEntry } from "../../submission/journal.ts";

/**
 * Since when this process has known of creates whose outcome is unknown. Not the intent's own time: the request may
 * have been under way for long after that, and another process may have sent it by another clock.
 */
export type UnknownCreates = {
  /** Milliseconds since the first look at this entry without an outcome; 0 at the first, or when there is none. */
  ageMs(uid: string, entry: JournalEntry | undefined): number;
};

export function createUnknownCreates(clock: Clock): UnknownCreates {
  const firstSeen = new Map<string, { id: string; at: number }>();
  return {
    ageMs(uid, entry) {
      if (entry === undefined || entry.outcome !== undefined) {
        firstSeen.delete(uid);
        return 0;
      }
      const known = firstSeen.get(uid);
      if (known?.id === entry.id) return clock.monotonic() - known.at;
      firstSeen.set(uid, { id: entry.id, at: clock.monotonic() });
      return 0;
    },
  };
}
