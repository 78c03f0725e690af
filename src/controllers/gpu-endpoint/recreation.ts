import { cut } from "../../api/v1alpha1/conditions.ts";
import type { GpuEndpoint } from "../../api/v1alpha1/gpu-endpoint.ts";
import { rfc3339 } from "../../base/clock.ts";
import { createdBy, type OpenCreate } from "./memory.ts";

/** A create that no read has confirmed. `endpointID` absent: its response was lost. `time`: RFC 3339. */
export type UnconfirmedCreate = { endpointID?: string | undefined; keyVersion?: string | undefined; time: string };

/** Whether another create may be sent while earlier ones are unconfirmed. */
type Recreation =
  | { kind: "Allowed" }
  /** `message`: what was created when, and when the next create is sent. */
  | { kind: "Wait"; againMs: number; message: string }
  /** Only a user can release the next create. */
  | { kind: "Stop"; message: string };

/** Most accepted creates that no read shows: then Mooring stops. Each may be an endpoint that runs and costs money. */
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

/** Why it is not known which endpoint an accepted create made. */
export function acceptedWithoutID(sentAt: number, appName: string): string {
  return `The service accepted the create of ${rfc3339(sentAt)}, but its response has no usable ID, and the service shows no endpoint with app name ${appName}`;
}

/** Why it is not known whether a create took effect. */
export function notShownToKey(sentAt: number): string {
  return `The response to the create of ${rfc3339(sentAt)} was lost. The API key has changed since, or Mooring does not know with which key it was sent, and the service shows no such endpoint with the current key, so the endpoint may run`;
}

export function madeWithOtherKey(endpointID: string): string {
  return `Endpoint ${endpointID} was created with another API key than the current one, and the service has not shown it since, so it may run`;
}

export function noneShown(count: number): string {
  return count === 1
    ? "the only endpoint of this account is not shown by the service"
    : `none of the ${count} endpoints of this account is shown by the service`;
}
