import { cut } from "../../api/v1alpha1/conditions.ts";
import type { DriftField, GpuEndpoint } from "../../api/v1alpha1/gpu-endpoint.ts";
import { rfc3339 } from "../../base/clock.ts";
import type { Cause } from "../verdict.ts";
import { createdBy, type OpenCreate } from "./open-create.ts";

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

/**
 * What the service refused a moment ago, so that a reconcile that only our own status write caused does not send the same
 * request again. Another desired endpoint was not refused.
 */
export type Refusals = {
  find(uid: string, desiredHash: string, now: number): { refusal: Cause; againMs: number } | undefined;
  /** Not to be sent again before `until`, milliseconds since the epoch. */
  note(uid: string, desiredHash: string, refusal: Cause, until: number): void;
  forget(uid: string): void;
};

export function createRefusals(): Refusals {
  const known = new Map<string, { desiredHash: string; refusal: Cause; until: number }>();
  return {
    find(uid, desiredHash, now) {
      const one = known.get(uid);
      if (one === undefined || one.desiredHash !== desiredHash || now >= one.until) return undefined;
      return { refusal: one.refusal, againMs: one.until - now };
    },
    note: (uid, desiredHash, refusal, until) => void known.set(uid, { desiredHash, refusal, until }),
    forget: (uid) => void known.delete(uid),
  };
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
