import type { DriftField } from "../../api/v1alpha1/gpu-endpoint.ts";

/** The outcomes of the updates that were sent because of one field, with the same desired endpoint. */
export type FieldHistory = {
  /** Updates that a read confirmed. Another difference after that is the work of another client. */
  confirmed: number;
  /** Updates that the service accepted since the last confirmed one, and that no read has shown. */
  unconfirmed: number;
  /** Milliseconds since the last update; Infinity when there was none. */
  sinceMs: number;
};

/**
 * Follows the updates of each object, field by field, to tell three cases apart: an update that takes effect, one that the
 * service accepts without effect, and one that another client reverts. `desiredHash` tells one desired endpoint from
 * another; the counts belong to one and start over with the next.
 */
export type DriftFightTracker = {
  history(uid: string, desiredHash: string, field: DriftField, now: number): FieldHistory;
  /** An update was sent because of these fields. `accepted` false: the outcome is unknown. */
  sent(
    uid: string,
    desiredHash: string,
    update: { fields: readonly DriftField[]; accepted: boolean },
    now: number,
  ): void;
  /** A read shows the endpoint: fields that do not differ any more confirm their update. Rounds count for half an hour. */
  observed(uid: string, desiredHash: string, differing: readonly DriftField[], now: number): void;
  /** The status shows that another process stopped re-applying these fields: continues from there. No effect without fields. */
  resume(
    uid: string,
    desiredHash: string,
    stopped: { fields: readonly DriftField[]; confirmed: number },
    now: number,
  ): void;
  /** The desired endpoint that a read last showed in full, as far as this process knows. */
  applied(uid: string): string | undefined;
  recordApplied(uid: string, desiredHash: string): void;
  /** Starts over: the object is deleted, or a user requests a reconcile. */
  forget(uid: string): void;
};

/** Times in milliseconds since the epoch. */
type Field = { confirmedAt: number[]; unconfirmed: number; sentAt: number; awaitsRead: boolean };
type Rounds = { desiredHash: string; fields: Map<DriftField, Field> };

const WINDOW_MS = 30 * 60_000;
const NEVER: FieldHistory = { confirmed: 0, unconfirmed: 0, sinceMs: Number.POSITIVE_INFINITY };

export function createDriftFightTracker(): DriftFightTracker {
  const rounds = new Map<string, Rounds>();
  const applied = new Map<string, string>();
  const fieldsOf = (uid: string, desiredHash: string) => {
    const known = rounds.get(uid);
    return known?.desiredHash === desiredHash ? known.fields : undefined;
  };
  return {
    history(uid, desiredHash, name, now) {
      const field = fieldsOf(uid, desiredHash)?.get(name);
      if (field === undefined) return NEVER;
      return { confirmed: field.confirmedAt.length, unconfirmed: field.unconfirmed, sinceMs: now - field.sentAt };
    },
    sent(uid, desiredHash, { fields: names, accepted }, now) {
      const fields = fieldsOf(uid, desiredHash) ?? new Map<DriftField, Field>();
      for (const name of names) {
        const { confirmedAt = [], unconfirmed = 0 } = fields.get(name) ?? {};
        fields.set(name, {
          confirmedAt,
          unconfirmed: unconfirmed + (accepted ? 1 : 0),
          sentAt: now,
          awaitsRead: true,
        });
      }
      rounds.set(uid, { desiredHash, fields });
      if (applied.get(uid) !== desiredHash) applied.delete(uid); // the remote may have what was sent instead
    },
    observed(uid, desiredHash, differing, now) {
      for (const [name, field] of fieldsOf(uid, desiredHash) ?? []) {
        if (!field.awaitsRead || differing.includes(name)) continue;
        field.awaitsRead = false;
        field.unconfirmed = 0;
        field.confirmedAt = [...field.confirmedAt.filter((time) => now - time < WINDOW_MS), now];
      }
    },
    resume(uid, desiredHash, { fields: names, confirmed }, now) {
      if (rounds.has(uid) || names.length === 0) return;
      const confirmedAt = Array.from({ length: confirmed }, () => now);
      const field = { confirmedAt, unconfirmed: 0, sentAt: now, awaitsRead: false };
      rounds.set(uid, { desiredHash, fields: new Map(names.map((name) => [name, { ...field }])) });
    },
    applied: (uid) => applied.get(uid),
    recordApplied: (uid, desiredHash) => void applied.set(uid, desiredHash),
    forget(uid) {
      rounds.delete(uid);
      applied.delete(uid);
    },
  };
}
