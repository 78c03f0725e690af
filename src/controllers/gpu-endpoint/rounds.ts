import type { DriftField } from "../../api/v1alpha1/gpu-endpoint.ts";

/**
 * Counts, field by field, how often the same wish was sent and undone, to see when something else keeps undoing it. A
 * wish is a hash of what the spec asks for; a count is of one wish and begins anew with the next.
 */
export type UpdateRounds = {
  /** Updates with this wish because of any one of these fields; not fewer for time that passes without an update. */
  count(uid: string, wish: string, fields: readonly DriftField[]): number;
  /** Milliseconds since the last update with this wish; Infinity when there was none. */
  sinceMs(uid: string, wish: string, now: number): number;
  /** An update is sent because of these fields. Rounds of more than half an hour before do not count any more. */
  note(uid: string, wish: string, fields: readonly DriftField[], now: number): void;
  /**
   * The outcome of an update because of these fields is unknown. It counts when the remote is seen to match this wish
   * (`confirm`): an update that never took effect was not undone by anybody.
   */
  noteUnknown(uid: string, wish: string, fields: readonly DriftField[], now: number): void;
  /** The remote matches this wish. */
  confirm(uid: string, wish: string): void;
  /** A status says that these fields were given up: goes on where another process left off. None: nothing to take over. */
  resume(uid: string, wish: string, fields: readonly DriftField[], now: number, rounds: number): void;
  /** The wish that the remote was last given, as far as this process knows. */
  given(uid: string): string | undefined;
  give(uid: string, wish: string): void;
  /** Begins anew: the object goes, or a person asks to try again. */
  forget(uid: string): void;
};

type Rounds = { wish: string; times: Map<DriftField, number[]>; last: number };

const WINDOW_MS = 30 * 60_000;

export function createUpdateRounds(): UpdateRounds {
  const rounds = new Map<string, Rounds>();
  const unknown = new Map<string, { wish: string; fields: readonly DriftField[]; at: number }>();
  const wishes = new Map<string, string>();
  const of = (uid: string, wish: string) => {
    const known = rounds.get(uid);
    return known?.wish === wish ? known : undefined;
  };
  function note(uid: string, wish: string, fields: readonly DriftField[], now: number): void {
    const { times } = of(uid, wish) ?? { times: new Map<DriftField, number[]>() };
    for (const field of fields) {
      times.set(field, [...(times.get(field) ?? []).filter((time) => now - time < WINDOW_MS), now]);
    }
    rounds.set(uid, { wish, times, last: now });
    unknown.delete(uid);
  }

  return {
    note,
    count: (uid, wish, fields) => Math.max(0, ...fields.map((field) => of(uid, wish)?.times.get(field)?.length ?? 0)),
    sinceMs: (uid, wish, now) => now - (of(uid, wish)?.last ?? Number.NEGATIVE_INFINITY),
    noteUnknown: (uid, wish, fields, at) => void unknown.set(uid, { wish, fields, at }),
    confirm(uid, wish) {
      const update = unknown.get(uid);
      if (update?.wish === wish) note(uid, wish, update.fields, update.at);
    },
    resume(uid, wish, fields, now, count) {
      if (rounds.has(uid) || fields.length === 0) return;
      const times = Array.from({ length: count }, () => now);
      rounds.set(uid, { wish, times: new Map(fields.map((field) => [field, times])), last: now });
    },
    given: (uid) => wishes.get(uid),
    give: (uid, wish) => void wishes.set(uid, wish),
    forget(uid) {
      rounds.delete(uid);
      unknown.delete(uid);
      wishes.delete(uid);
    },
  };
}
