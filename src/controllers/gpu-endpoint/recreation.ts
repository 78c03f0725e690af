import { cut } from "../../api/v1alpha1/conditions.ts";
import type { GpuEndpoint } from "../../api/v1alpha1/gpu-endpoint.ts";
import { ANNOTATIONS } from "../../api/v1alpha1/meta.ts";
import { rfc3339 } from "../../clock.ts";
import type { JournalEntry } from "../../submission/journal.ts";

/** A create that no read has confirmed. `endpointID` absent: its response was lost. `time`: RFC 3339. */
export type UnconfirmedCreate = { endpointID?: string | undefined; time: string };

/** Whether another create may be sent while earlier ones are unconfirmed. */
export type Recreation =
  | { kind: "Allowed" }
  /** `message`: what was created when, and when the next create is sent. */
  | { kind: "Wait"; againMs: number; message: string }
  /** Only a user can release the next create. */
  | { kind: "Stop"; message: string };

/** Accepted creates that no read shows, before we stop. Each may be an endpoint that runs and costs money. */
export const MOST_ACCEPTED = 3;
/** The same, counting creates whose response was lost too. Most of those had no effect, as in an outage. */
export const MOST_UNCONFIRMED = 8;
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

export type CreatesInput = {
  endpoint: Pick<GpuEndpoint, "status">;
  entry: JournalEntry | undefined;
  /** A user requests a reconcile: this releases the next create. */
  requested: boolean;
};

/** The unconfirmed creates of an object: those in its status, and the one in the journal. */
export function unconfirmedCreates({ endpoint, entry, requested }: CreatesInput): UnconfirmedCreate[] {
  if (requested) return [];
  const { unconfirmedCreates: stored = [], endpointID: bound } = endpoint.status ?? {};
  if (entry === undefined) return stored;
  const endpointID = entry.outcome?.endpointID;
  if (endpointID === undefined) return withCreate(stored, { time: entry.time });
  return endpointID === bound ? stored : withCreate(stored, { endpointID, time: entry.time });
}

/** The newest ones, as many as the status can store. */
export function withCreate(creates: readonly UnconfirmedCreate[], create: UnconfirmedCreate): UnconfirmedCreate[] {
  return [...creates, create].slice(-MOST_UNCONFIRMED);
}

/** The command that requests a reconcile of the object. */
export function requestCommand({ metadata: { namespace, name } }: GpuEndpoint): string {
  return `kubectl -n ${namespace} annotate gpuendpoint ${name} ${ANNOTATIONS.reconcileRequestedAt}="$(date)" --overwrite`;
}
