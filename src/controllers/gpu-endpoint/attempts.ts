import type { DriftField } from "../../api/v1alpha1/gpu-endpoint.ts";
import type { Cause } from "../verdict.ts";

/** The outcomes of the updates that were sent because of one field, with the same desired endpoint. */
export type FieldHistory = {
  /** Updates that a read confirmed. Another difference after that is the work of another client. */
  confirmed: number;
  /** Updates that the service accepted since the last confirmed one, and that no read has shown. */
  unconfirmed: number;
  /** Milliseconds since the last update; Infinity when there was none. */
  sinceMs: number;
};

/** The updates that were sent because of one field. Times in milliseconds since the epoch. */
type FieldUpdates = { confirmedAt: number[]; unconfirmed: number; sentAt: number; awaitsRead: boolean };

/**
 * What this process knows of one desired endpoint of an object. It is reset with another one, and when a user requests a reconcile.
 * Field by field, it tells three cases apart: an update that takes effect, one that the service accepts without effect, and one that
 * another client reverts.
 */
export type Attempts = {
  /** Tells one desired endpoint from another. */
  readonly desiredHash: string;
  /** Undefined: this process sent no update, which is so for most endpoints. */
  fields?: Map<DriftField, FieldUpdates>;
  /** Whether a read has shown the desired endpoint in full. */
  applied: boolean;
  /** The refused write, so that a reconcile after our own status write does not send it again before `until`. */
  refused?: { refusal: Cause; until: number };
};

const WINDOW_MS = 30 * 60_000;

/** @param stopped the fields that another process stopped re-applying, as the status shows: `confirmed` updates of each were reverted */
export function newAttempts(
  desiredHash: string,
  stopped: { fields: readonly DriftField[]; confirmed: number },
  now: number,
): Attempts {
  const confirmedAt = Array.from({ length: stopped.confirmed }, () => now);
  const field = { confirmedAt, unconfirmed: 0, sentAt: now, awaitsRead: false };
  const attempts = { desiredHash, applied: false };
  if (stopped.fields.length === 0) return attempts;
  return { ...attempts, fields: new Map(stopped.fields.map((name) => [name, { ...field }])) };
}

export function historyOf({ fields }: Attempts, name: DriftField, now: number): FieldHistory {
  const field = fields?.get(name);
  if (field === undefined) return { confirmed: 0, unconfirmed: 0, sinceMs: Number.POSITIVE_INFINITY };
  return { confirmed: field.confirmedAt.length, unconfirmed: field.unconfirmed, sinceMs: now - field.sentAt };
}

/** An update was sent because of these fields. `accepted` false: the outcome is unknown. */
export function noteUpdate(attempts: Attempts, names: readonly DriftField[], accepted: boolean, now: number): void {
  attempts.fields ??= new Map();
  const { fields } = attempts;
  for (const name of names) {
    const { confirmedAt = [], unconfirmed = 0 } = fields.get(name) ?? {};
    fields.set(name, { confirmedAt, unconfirmed: unconfirmed + (accepted ? 1 : 0), sentAt: now, awaitsRead: true });
  }
}

/** A read shows the endpoint: fields that do not differ any more confirm their update. Confirmed updates count for half an hour. */
export function noteRead({ fields }: Attempts, differing: readonly DriftField[], now: number): void {
  for (const [name, field] of fields ?? []) {
    if (!field.awaitsRead || differing.includes(name)) continue;
    field.awaitsRead = false;
    field.unconfirmed = 0;
    field.confirmedAt = [...field.confirmedAt.filter((time) => now - time < WINDOW_MS), now];
  }
}
