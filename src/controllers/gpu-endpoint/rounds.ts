/** Counts updates with the same body, to see when something else keeps undoing them. */
export type UpdateRounds = {
  /** Updates of this object with this body in the last half hour. */
  count(uid: string, bodyHash: string, now: number): number;
  note(uid: string, bodyHash: string, now: number): void;
  forget(uid: string): void;
};

const WINDOW_MS = 30 * 60_000;

export function createUpdateRounds(): UpdateRounds {
  const rounds = new Map<string, { bodyHash: string; times: number[] }>();
  const recent = (uid: string, bodyHash: string, now: number): number[] => {
    const known = rounds.get(uid);
    return known?.bodyHash === bodyHash ? known.times.filter((time) => now - time < WINDOW_MS) : [];
  };
  return {
    count: (uid, bodyHash, now) => recent(uid, bodyHash, now).length,
    note: (uid, bodyHash, now) => void rounds.set(uid, { bodyHash, times: [...recent(uid, bodyHash, now), now] }),
    forget: (uid) => void rounds.delete(uid),
  };
}
