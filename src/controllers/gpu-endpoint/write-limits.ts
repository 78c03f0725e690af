import { cut } from "../../api/v1alpha1/conditions.ts";
import type { DriftField, GpuEndpoint } from "../../api/v1alpha1/gpu-endpoint.ts";
import { rfc3339 } from "../../base/clock.ts";
import type { Cause } from "../verdict.ts";
import { createdBy, type OpenCreate } from "./create-record.ts";

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
 * What this process knows of one desired endpoint of an object: it begins anew with another one, and when a user requests a reconcile.
 * Field by field, it tells three cases apart: an update that takes effect, one that the service accepts without effect, and one that
 * another client reverts.
 */
export type Attempts = {
  /** Tells one desired endpoint from another. */
  readonly desiredHash: string;
  fields: Map<DriftField, FieldUpdates>;
  /** Whether a read has shown the desired endpoint in full. */
  applied: boolean;
  /** What the service refused, so that a reconcile that only our own status write caused does not send it again before `until`. */
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
  return { desiredHash, fields: new Map(stopped.fields.map((name) => [name, { ...field }])), applied: false };
}

export function historyOf({ fields }: Attempts, name: DriftField, now: number): FieldHistory {
  const field = fields.get(name);
  if (field === undefined) return { confirmed: 0, unconfirmed: 0, sinceMs: Number.POSITIVE_INFINITY };
  return { confirmed: field.confirmedAt.length, unconfirmed: field.unconfirmed, sinceMs: now - field.sentAt };
}

/** An update was sent because of these fields. `accepted` false: the outcome is unknown. */
export function noteUpdate({ fields }: Attempts, names: readonly DriftField[], accepted: boolean, now: number): void {
  for (const name of names) {
    const { confirmedAt = [], unconfirmed = 0 } = fields.get(name) ?? {};
    fields.set(name, { confirmedAt, unconfirmed: unconfirmed + (accepted ? 1 : 0), sentAt: now, awaitsRead: true });
  }
}

/** A read shows the endpoint: fields that do not differ any more confirm their update. Confirmed updates count for half an hour. */
export function noteRead({ fields }: Attempts, differing: readonly DriftField[], now: number): void {
  for (const [name, field] of fields) {
    if (!field.awaitsRead || differing.includes(name)) continue;
    field.awaitsRead = false;
    field.unconfirmed = 0;
    field.confirmedAt = [...field.confirmedAt.filter((time) => now - time < WINDOW_MS), now];
  }
}

/** A create that no read has confirmed. `endpointID` absent: its response was lost. `time`: RFC 3339. */
export type UnconfirmedCreate = { endpointID?: string | undefined; keyVersion?: string | undefined; time: string };

/** Whether another create may be sent while earlier ones are unconfirmed. */
type Recreation =
  | { kind: "Allowed" }
  /** `message`: what was created when, and when the next create is sent. */
  | { kind: "Wait"; againMs: number; message: string }
  /** Only a user can release the next create. */
  | { kind: "Stop"; message: string };

/** Accepted creates that no read shows, before we stop. Each may be an endpoint that runs and costs money. */
const MOST_ACCEPTED = 3;
/** The same, counting creates whose response was lost too. Most of those had no effect, as in an outage. */
const MOST_UNCONFIRMED = 8;
/** Pause after the first create whose response was lost. Doubles with each unconfirmed create. */
const LOST_PAUSE_MS = 60_000;
/** Pause after the first accepted create. Doubles with each one. */
const ACCEPTED_PAUSE_MS = 5 * 60_000;
const LONGEST_PAUSE_MS = 60 * 60_000;
/** Characters of an ID in a message, so that the command at its end is not cut off. */
const ID_LENGTH = 40;

/** Pure. `now`: ms since the epoch. `release`: the command that allows the next create at once. */
export function recreationOf(creates: readonly UnconfirmedCreate[], release: string, now: number): Recreation {
  if (creates.length === 0) return { kind: "Allowed" };
  const accepted = creates.filter(({ endpointID }) => endpointID !== undefined).length;
  const list = creates
    .map(({ endpointID, time }) => `${cut(endpointID ?? "ID unknown", ID_LENGTH)} (${time})`)
    .join(", ");
  const shown = "The service shows none of the endpoints that this object created";
  if (accepted >= MOST_ACCEPTED || creates.length >= MOST_UNCONFIRMED) {
    const message = `${shown}, so no other one is created. They may run and cost money: look for them at the service. To create another one: ${release}. Created: ${list}`;
    return { kind: "Stop", message };
  }
  const last = Math.max(...creates.map(({ time }) => Date.parse(time)));
  const nextAt = last + pauseMs(accepted, creates.length);
  if (nextAt <= now) return { kind: "Allowed" };
  return {
    kind: "Wait",
    againMs: nextAt - now,
    message: `${shown}. Another one is created at ${rfc3339(nextAt)}. Created: ${list}`,
  };
}

function pauseMs(accepted: number, total: number): number {
  const lost = LOST_PAUSE_MS * 2 ** (total - 1);
  const paid = accepted === 0 ? 0 : ACCEPTED_PAUSE_MS * 2 ** (accepted - 1);
  return Math.min(Math.max(lost, paid), LONGEST_PAUSE_MS);
}

type CreatesInput = {
  endpoint: Pick<GpuEndpoint, "status">;
  entry: OpenCreate | undefined;
  /** A user requests a reconcile: this releases the next create. */
  requested: boolean;
};

/** The unconfirmed creates of an object: those in its status, and the open one. */
export function unconfirmedCreates({ endpoint, entry, requested }: CreatesInput): UnconfirmedCreate[] {
  if (requested) return [];
  const { unconfirmedCreates: stored = [], endpointID: bound } = endpoint.status ?? {};
  if (entry === undefined) return stored;
  const { keyVersion, time } = entry;
  const endpointID = createdBy(entry);
  if (endpointID === undefined) return withCreate(stored, { keyVersion, time });
  return endpointID === bound ? stored : withCreate(stored, { endpointID, keyVersion, time });
}

/** Whether no read has shown an endpoint since it was created with another key. Then its absence with this key proves nothing. */
export function isSeenByNoKey(endpointID: string, keyVersion: string, input: CreatesInput): boolean {
  const create = unconfirmedCreates(input).find((one) => one.endpointID === endpointID);
  return create?.keyVersion !== undefined && create.keyVersion !== keyVersion;
}

/** The newest ones, as many as the status can store. */
export function withCreate(creates: readonly UnconfirmedCreate[], create: UnconfirmedCreate): UnconfirmedCreate[] {
  return [...creates, create].slice(-MOST_UNCONFIRMED);
}
