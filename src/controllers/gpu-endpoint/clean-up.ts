import { type DriftField, driftFields, type GpuEndpoint } from "../../api/v1alpha1/gpu-endpoint.ts";
import type { EndpointRecord } from "../../provider/endpoints/endpoint-record.ts";
import { ServiceError } from "../../provider/errors.ts";
import type { ReconcileContext } from "../../runtime/controller.ts";
import type { JournalEntry } from "../../submission/journal.ts";
import type { AccountHandle } from "../account/registry.ts";
import type { Shared } from "../shared.ts";
import { updateEndpoint } from "./apply.ts";
import { appNameOf, desiredEndpoint } from "./desired.ts";
import { withIgnored } from "./drift.ts";
import { completed } from "./observe.ts";
import { LOOKUP_MS } from "./plan.ts";

/** What came of a step of cleaning up. */
export type CleanedUp =
  /** Nothing is left to do; `note` says what was done, for the event. */
  | { kind: "Done"; note?: { reason: "ScaledToZero" | "Deleted"; text: string } }
  /** Goes on by itself. */
  | { kind: "Wait"; message: string }
  /** A person must act. */
  | { kind: "Blocked"; reason: "DeleteNotConfigured" | "RemoteRefused"; message: string };

export type CleanUpInput = {
  shared: Shared;
  account: AccountHandle;
  endpoint: GpuEndpoint;
  endpointID: string;
  entry: JournalEntry | undefined;
  context: ReconcileContext;
};

/** Sets workers to 0/0 and leaves all else as the remote has it: the spec may never have been applied, its Secrets may be gone. */
export async function scaleToZero(input: CleanUpInput): Promise<CleanedUp> {
  const { shared, account, endpoint, endpointID, context } = input;
  const found = await find(input);
  if (found === "Gone") return { kind: "Done" };
  if (found === "Unclear") return unclear(endpointID);
  if (found.scaling.min === 0 && found.scaling.max === 0) return { kind: "Done" };
  const record = await completed(account, endpoint, found, "Now", context.signal);
  const zero = { ...record, scaling: { ...record.scaling, min: 0, max: 0 } };
  const desired = withIgnored(
    desiredEndpoint(endpoint, shared.clusterUID, []),
    zero,
    driftFields.filter(shownBy(record)),
  );
  await updateEndpoint(shared, account, endpointID, desired, context);
  return {
    kind: "Done",
    note: { reason: "ScaledToZero", text: `Set the workers of endpoint ${endpointID} to 0/0` },
  };
}

/** What an update has to carry and the service did not show comes from the spec. */
const shownBy =
  ({ image, healthCheck }: EndpointRecord) =>
  (field: DriftField): boolean =>
    (field !== "image" || image !== "") && (field !== "healthCheck.path" || healthCheck.path !== "");

/** Deletions that were sent, by UID of the object: monotonic ms. What is forgotten is sent again, which does no harm. */
export type SentDeletions = Map<string, number>;
const SEND_AGAIN_MS = 60_000;

/** Deletes as the account says, and is done only when the service does not show the endpoint any more. */
export async function deleteRemote(input: CleanUpInput, sent: SentDeletions): Promise<CleanedUp> {
  const { shared, account, endpoint, endpointID, context } = input;
  const { uid = "" } = endpoint.metadata;
  const before = sent.get(uid);
  const found = await find(input);
  if (found === "Gone" || (found === "Unclear" && before !== undefined))
    return deleted(endpointID, before !== undefined);
  if (found === "Unclear") return unclear(endpointID);
  const { endpoints } = account;
  if (endpoints.delete === undefined) {
    const message = "deletionPolicy is Delete, and the account has no endpoints.deleteOperation: set it";
    return { kind: "Blocked", reason: "DeleteNotConfigured", message };
  }
  const now = shared.clock.monotonic();
  if (before !== undefined && now - before < SEND_AGAIN_MS) return beingDeleted(found);
  let notFound = false;
  try {
    await endpoints.delete(endpointID, { signal: context.signal, beforeSend: async () => shared.assertLeading() });
    sent.set(uid, now);
  } catch (error) {
    if (!(error instanceof ServiceError) || error.kind !== "NotFound") throw error;
    notFound = true;
  }
  const after = await find(input);
  if (typeof after === "string") return deleted(endpointID, true);
  if (!notFound) return beingDeleted(after);
  const message = `the account's endpoints.deleteOperation was answered with "not found", but endpoint ${endpointID} is there: correct it`;
  return { kind: "Blocked", reason: "RemoteRefused", message };
}

function deleted(endpointID: string, byUs: boolean): CleanedUp {
  if (!byUs) return { kind: "Done" };
  return { kind: "Done", note: { reason: "Deleted", text: `Deleted endpoint ${endpointID}` } };
}

function beingDeleted({ id, status }: EndpointRecord): CleanedUp {
  return { kind: "Wait", message: `The service took the delete and still shows endpoint ${id} as "${status.status}"` };
}

function unclear(endpointID: string): CleanedUp {
  const message = `The service does not show endpoint ${endpointID} yet, which was created a moment ago`;
  return { kind: "Wait", message };
}

/**
 * The endpoint as it is now. It counts as gone when it can be read neither by its id nor in the list by its app name, and
 * was not created a moment ago: to let go of one that is there would leave it running, unseen and paid for.
 */
async function find(input: CleanUpInput): Promise<EndpointRecord | "Gone" | "Unclear"> {
  const { shared, account, endpoint, endpointID, entry, context } = input;
  const record = await account.endpoints.read(endpointID, context.signal);
  if (record !== undefined) return record;
  const listed = await account.endpoints.find(appNameOf(endpoint, shared.clusterUID), context.signal);
  if (listed?.id === endpointID) return listed;
  const times = [entry?.time, endpoint.status?.submission?.time].flatMap((time) => time ?? []);
  const age = shared.clock.now() - Math.max(...times.map((time) => Date.parse(time)), 0);
  return age < LOOKUP_MS ? "Unclear" : "Gone";
}
