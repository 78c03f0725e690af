import type { DriftField, GpuEndpointStatus } from "../../api/v1alpha1/gpu-endpoint.ts";
import { rfc3339 } from "../../base/clock.ts";
import type { KeySession } from "../../provider/endpoints/endpoint-index.ts";
import type { EndpointRecord } from "../../provider/endpoints/endpoint-record.ts";
import type { EndpointLimits } from "../../provider/endpoints/limits.ts";
import { mayHaveTakenEffect, ServiceError } from "../../provider/errors.ts";
import { updateEndpoint } from "./apply.ts";
import { desiredEndpoint, outOfRange } from "./desired.ts";
import { type DesiredEndpoint, endpointFields, withIgnored } from "./fields.ts";
import type { SentCleanUp } from "./memory.ts";
import { completed } from "./observe.ts";
import { LOOKUP_MS } from "./plan.ts";
import { isSeenByNoKey, madeWithOtherKey, noneShown } from "./recreation.ts";
import type { Step } from "./step.ts";

/** How a step of the clean-up ended. */
export type CleanedUp =
  /** A read confirms that nothing is left to do. `note`: the event that says what was done. */
  | { kind: "Done"; note?: { reason: "ScaledToZero" | "Deleted"; text: string } }
  /** Continues without help. `againMs`: when to check again, default 2 s. */
  | { kind: "Wait"; message: string; againMs?: number | undefined }
  /** A user must act. */
  | { kind: "Blocked"; reason: "DeleteNotConfigured" | "RemoteRefused" | "RemoteMissing"; message: string };

type CleanUpInput = Pick<Step, "shared" | "account" | "endpoint" | "entry" | "checks" | "context"> & {
  endpointID: string;
  /** Writes `status.deletion`. Without an object there is no status, and nothing is written. */
  recordDeletion: (deletion: Deletion) => Promise<void>;
  /** What this process sent. */
  sent: SentCleanUp;
};

/** `status.deletion`: which key showed the endpoint right before the deletion was sent. */
export type Deletion = NonNullable<GpuEndpointStatus["deletion"]>;

const FIRST_REPEAT_MS = 10_000;
const LONGEST_REPEAT_MS = 10 * 60_000;
const LOOK_AGAIN_MS = 2_000;

/**
 * Sets workers to 0/0 and leaves every other field as the remote has it: the spec may never have been applied, and its
 * Secrets may be deleted. Done only when a read after the update shows 0/0; an update without effect is repeated with backoff.
 */
export async function scaleToZero(input: CleanUpInput): Promise<CleanedUp> {
  const { shared, account, endpoint, endpointID, sent, context } = input;
  const found = await account.endpoints.read(endpointID, context.signal);
  if (found === undefined) return judgeAbsence(input);
  const before = sent.scaled;
  if (isZero(found)) return scaled(found, before !== undefined);
  const now = shared.clock.monotonic();
  if (before !== undefined && now < before.lastAt + repeatMs(before.count)) return unscaled(found, before, now);

  const record = await completed({ account, endpoint, signal: context.signal }, found, "Now");
  const zero = { ...record, scaling: { ...record.scaling, min: 0, max: 0 } };
  const ofSpec = desiredEndpoint(endpoint, shared.clusterUID, []);
  await updateEndpoint(input, endpointID, asShown(zero, ofSpec, account.endpoints.limits()));
  const accepted = { count: (before?.count ?? 0) + 1, lastAt: shared.clock.monotonic() };
  sent.scaled = accepted;

  const after = await account.endpoints.read(endpointID, context.signal);
  if (after === undefined) return judgeAbsence(input);
  return isZero(after) ? scaled(after, true) : unscaled(after, accepted, accepted.lastAt);
}

const isZero = ({ scaling: { min, max } }: EndpointRecord) => min === 0 && max === 0;

/** 10 s after the first update without effect, then twice as long each time, at most 10 minutes. */
const repeatMs = (count: number) => Math.min(LONGEST_REPEAT_MS, FIRST_REPEAT_MS * 2 ** (count - 1));

function scaled({ id, workers }: EndpointRecord, byUs: boolean): CleanedUp {
  if (!byUs) return { kind: "Done" };
  const running = workers.length === 0 ? "" : `; the service still shows ${workers.length} of its workers`;
  return { kind: "Done", note: { reason: "ScaledToZero", text: `Set the workers of endpoint ${id} to 0/0${running}` } };
}

/** The pauses between reads grow with the time since the update, and end when it is repeated. */
function unscaled(
  { id, scaling }: EndpointRecord,
  { count, lastAt }: { count: number; lastAt: number },
  now: number,
): CleanedUp {
  const shown = `${scaling.min ?? "unknown"}/${scaling.max ?? "unknown"}`;
  const message = `The service accepted the update of endpoint ${id} to workers 0/0 (min/max), but still shows ${shown}; the update is repeated with backoff (sent ${count} times)`;
  const repeatInMs = lastAt + repeatMs(count) - now;
  return wait(message, Math.min(repeatInMs, Math.max(LOOK_AGAIN_MS, now - lastAt)));
}

/**
 * What an update sends to leave everything as the service shows it. A value that the account's limits exclude comes from the spec: the
 * unit of timeouts is not known (interface: Endpoint (current generation)), and an update that is refused would leave the endpoint running.
 */
function asShown(record: EndpointRecord, ofSpec: DesiredEndpoint, limits: EndpointLimits | undefined): DesiredEndpoint {
  const shown = endpointFields.map(({ path }) => path).filter(shownBy(record));
  const sent = withIgnored(ofSpec, record, shown);
  if (limits === undefined) return sent;
  const excluded = outOfRange(sent, limits, true, "update").map(({ path }) => path);
  return withIgnored(
    ofSpec,
    record,
    shown.filter((path) => !excluded.includes(path)),
  );
}

/** A field that an update requires comes from the spec when the service does not show it. */
const shownBy =
  ({ image, healthCheck }: EndpointRecord) =>
  (field: DriftField): boolean =>
    (field !== "image" || image !== "") && (field !== "healthCheck.path" || healthCheck.path !== "");

const SEND_AGAIN_MS = 60_000;
/** After a read and a list that contradict each other. */
const CONTRADICTION_MS = 30_000;

/**
 * Deletes with the account's delete operation. Done only when it is proven that the endpoint does not exist any more. Before the
 * deletion is sent, the status shows which key saw the endpoint: after a restart, a list of the same key is a proof too.
 */
export async function deleteRemote(input: CleanUpInput): Promise<CleanedUp> {
  const { shared, account, endpointID, sent, context } = input;
  const before = sent.deleted;
  const { endpoints } = account;
  const session = endpoints.observed.session();
  const keyVersion = account.keyVersion();
  const found = await endpoints.read(endpointID, context.signal);
  if (found === undefined) return deleted(input, before);
  if (endpoints.delete === undefined) {
    const message = "deletionPolicy is Delete, and the account has no endpoints.deleteOperation: set it";
    return { kind: "Blocked", reason: "DeleteNotConfigured", message };
  }
  const now = shared.clock.monotonic();
  if (before !== undefined && now - before.at < SEND_AGAIN_MS) return beingDeleted(found);
  if (!isRecorded(input, keyVersion)) {
    await input.recordDeletion({ endpointID, keyVersion, time: rfc3339(shared.clock.now()) });
  }
  await input.checks.assertCurrent(); // the write of `status.deletion` is a proof
  let notFound = false;
  try {
    await endpoints.delete(endpointID, { signal: context.signal, beforeSend: input.checks.beforeSend });
    sent.deleted = { at: now, session };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    if (mayHaveTakenEffect(error)) sent.deleted = { at: Number.NEGATIVE_INFINITY, session }; // may be sent again at once
    if (error.kind !== "NotFound") throw error;
    notFound = true;
  }
  const after = await account.endpoints.read(endpointID, context.signal);
  if (after === undefined) return deleted(input, sent.deleted);
  if (!notFound) return beingDeleted(after);
  const message = `the service answered the account's endpoints.deleteOperation with "not found", but still shows endpoint ${endpointID}: correct the operation`;
  return { kind: "Blocked", reason: "RemoteRefused", message };
}

/** @param by how this process sent the deletion; undefined: it did not */
async function deleted(input: CleanUpInput, by: { session: KeySession } | undefined): Promise<CleanedUp> {
  const absence = await judgeAbsence(input, by);
  const sent = by !== undefined || isRecorded(input, input.account.keyVersion());
  if (absence.kind !== "Done" || !sent) return absence;
  return { kind: "Done", note: { reason: "Deleted", text: `Deleted endpoint ${input.endpointID}` } };
}

/** Whether the status shows that the key, in this version, saw the endpoint right before its deletion. */
function isRecorded({ endpoint, endpointID }: CleanUpInput, keyVersion: string): boolean {
  const { deletion } = endpoint.status ?? {};
  return deletion !== undefined && deletion.endpointID === endpointID && deletion.keyVersion === keyVersion;
}

const wait = (message: string, againMs?: number): CleanedUp => ({ kind: "Wait", message, againMs });

function beingDeleted({ id, status }: EndpointRecord): CleanedUp {
  return wait(`The service accepted the deletion and still shows endpoint ${id} with status "${status.status}"`);
}

const PUT_KEY = "Put a key that sees the account's endpoints into its Secret";

/**
 * Judges an endpoint that a read just did not find. Absence is proven when two complete lists in a row do not show it
 * either, and the key evidently sees the account's endpoints. It is proof enough that the key showed the endpoint before its
 * deletion was sent: to this process (`by`), or to an earlier one, which wrote it to the status.
 */
async function judgeAbsence(input: CleanUpInput, by?: { session: KeySession }): Promise<CleanedUp> {
  const { account, endpoint, endpointID, entry, context } = input;
  const { observed } = account.endpoints;
  const seenByKey = isRecorded(input, account.keyVersion()) || by?.session === observed.session();
  if (!seenByKey && isNew(input)) {
    return wait(`The service does not show endpoint ${endpointID} yet, which was created less than a minute ago`);
  }
  if (!observed.gone(endpointID)) await observed.next(context.signal);
  if (observed.shown().some(({ id }) => id === endpointID)) {
    return wait(`A read does not find endpoint ${endpointID}, but the list shows it`, CONTRADICTION_MS);
  }
  if (!observed.gone(endpointID)) {
    return wait(
      `The service does not know endpoint ${endpointID}; it counts as deleted when two complete lists do not show it`,
    );
  }
  const missing = (why: string): CleanedUp => {
    return { kind: "Blocked", reason: "RemoteMissing", message: `${why}. ${PUT_KEY}` };
  };
  if (!seenByKey && isSeenByNoKey(endpointID, account.keyVersion(), { endpoint, entry, requested: false })) {
    return missing(madeWithOtherKey(endpointID));
  }
  const vanished = seenByKey ? 0 : account.vanished({ endpointID, memberID: endpoint.status?.memberID });
  if (vanished === 0) return { kind: "Done" };
  const shown = `${noneShown(vanished)}, as with the key of another member`;
  return missing(`It is not known whether endpoint ${endpointID} still runs: ${shown}`);
}

/** Lists and reads may show a new endpoint late. */
function isNew({ shared, endpoint, entry }: CleanUpInput): boolean {
  const times = [entry?.time, endpoint.status?.submission?.time].flatMap((time) => time ?? []);
  return shared.clock.now() - Math.max(...times.map((time) => Date.parse(time)), 0) < LOOKUP_MS;
}
