import { getCondition } from "../../api/v1alpha1/conditions.ts";
import type { GpuEndpoint } from "../../api/v1alpha1/gpu-endpoint.ts";
import type { EndpointRecord } from "../../provider/endpoints/endpoint-record.ts";
import { isServing, readyWorkers } from "../../provider/endpoints/endpoint-status.ts";
import type { ReconcileContext } from "../../runtime/controller.ts";
import type { AccountHandle } from "../account/registry.ts";
import { reconcileRequestOf } from "../reconciler.ts";
import type { Claims } from "./claims.ts";
import { appNameOf, desiredEndpoint } from "./desired.ts";
import type { Binding } from "./facts.ts";
import { createdBy, type OpenCreate } from "./memory.ts";
import { isOurCreate, LOOKUP_MS } from "./plan.ts";
import { acceptedWithoutID, notShownToKey } from "./recreation.ts";
import type { Step } from "./step.ts";

/** After a write, single reads follow the endpoint until it settles, for at most this time. Then the list suffices. */
export const SETTLE_MS = 5 * 60_000;

type BindingFacts = Pick<Step, "endpoint" | "account" | "entry" | "unknownForMs"> & {
  appName: string;
  now: number;
  /** Whether the create of this object, sent at `sentAt` (ms since the epoch), can have made the endpoint. Default: it can. */
  isOurs?: (record: EndpointRecord, sentAt: number) => boolean;
  /** Reads a bound endpoint, whatever the list shows. Default false. */
  fresh?: boolean;
  signal: AbortSignal;
};

/** Observes the remote endpoint of an object. @throws ServiceError when a call fails */
export async function observeBinding(facts: BindingFacts): Promise<Binding> {
  const { endpoint, entry, account } = facts;
  const { observed } = account.endpoints;
  const endpointID = createdBy(entry) ?? endpoint.status?.endpointID;
  const unresolved = entry !== undefined && createdBy(entry) === undefined;
  if (unresolved) {
    const { unknownForMs } = facts;
    const sessionBefore = observed.session();
    const candidate = await searchCreated(facts);
    const key = observed.session() === sessionBefore ? keyOfSearch(entry, account) : "Changed";
    const accepted = entry.outcome !== undefined;
    return { kind: "CreateUnknown", candidate, accepted, key, sentAt: Date.parse(entry.time), unknownForMs };
  }
  if (endpointID === undefined || endpointID === "") return observeUnbound(facts);
  return observeBound(facts, endpointID);
}

/**
 * The endpoint of a create whose response was lost. The interface does not show what `keyword` matches. So before the create
 * counts as without effect, the whole list is read once more. Of several endpoints with the app name, the one that the create
 * can have made comes first; the others are orphans once the object is bound.
 */
async function searchCreated({ account, appName, entry, unknownForMs, isOurs, signal }: BindingFacts) {
  const sentAt = Date.parse(entry?.time ?? "");
  const best = (records: EndpointRecord[]) => records.find((record) => isOurs?.(record, sentAt)) ?? records[0];
  const { observed } = account.endpoints;
  const searched = await account.endpoints.find(appName, signal);
  const found = searched.length > 0 ? searched : observed.byAppName(appName);
  if (found.length > 0 || unknownForMs < LOOKUP_MS) return best(found);
  await observed.next(signal);
  return best(observed.byAppName(appName));
}

/** The view of one key proves nothing about a request with another one. */
function keyOfSearch({ keyVersion }: OpenCreate, account: AccountHandle): "Same" | "Other" {
  return keyVersion === account.keyVersion() ? "Same" : "Other";
}

async function observeUnbound(facts: BindingFacts): Promise<Binding> {
  const { endpoint, account, appName, signal } = facts;
  const { adoption } = endpoint.spec;
  if (adoption !== undefined) {
    const record = await account.endpoints.read(adoption.endpointID, signal);
    const adopt = record === undefined ? "NotFound" : await completed(facts, record, "Now");
    return { kind: "Unbound", candidate: undefined, adopt };
  }
  // One list shows every app name of the account, so 2,000 new objects cost pages, not 2,000 searches. Another client may
  // have taken an app name from a spec since, so such a name is searched for.
  await account.endpoints.observed.first(signal);
  const known = account.endpoints.observed.byAppName(appName);
  const named =
    known.length > 0 || endpoint.spec.appName === undefined ? known : await account.endpoints.find(appName, signal);
  const [candidate, ...others] = named;
  return { kind: "Unbound", candidate, others: others.map(({ id }) => id), adopt: undefined };
}

async function observeBound(facts: BindingFacts, endpointID: string): Promise<Binding> {
  const { endpoint, account, now, signal } = facts;
  const { observed } = account.endpoints;
  // After a start, one list shows what thousands of single reads would.
  if (facts.fresh !== true && !hasChange(endpoint)) await observed.firstEnded(signal);
  const swept = observed.missing(endpointID) ? undefined : observed.get(endpointID);
  if (swept !== undefined && facts.fresh !== true && !needsFreshRead(endpoint, swept, now)) {
    const record = await completed(facts, swept, "Remembered");
    return { kind: "Bound", endpointID, record, fresh: false, provenGone: false };
  }
  const record = await account.endpoints.read(endpointID, signal);
  if (record === undefined) {
    const provenGone = observed.gone(endpointID) && !isNew(endpoint, now);
    const [candidate] = namesakesOf(account, facts.appName, endpointID);
    return { kind: "Bound", endpointID, record: undefined, candidate, fresh: true, provenGone };
  }
  const settlingOnly = facts.fresh !== true && !hasChange(endpoint);
  const whole = await completed(facts, record, settlingOnly ? "Remembered" : "Now");
  return { kind: "Bound", endpointID, record: whole, fresh: true, provenGone: false };
}

/** The other endpoints with this app name that the service shows. */
export function namesakesOf({ endpoints }: AccountHandle, appName: string, own: string): EndpointRecord[] {
  return endpoints.observed.byAppName(appName).filter(({ id }) => id !== own && !endpoints.observed.missing(id));
}

export function isApplied(endpoint: GpuEndpoint): boolean {
  return endpoint.status?.appliedGeneration === endpoint.metadata.generation;
}

/** Whether the endpoint serves with the workers of its spec. No further change is expected without a write. */
export function isSettled(record: EndpointRecord): boolean {
  const { min = 0, max } = record.scaling;
  if (!isServing(record)) return false;
  return max === 0 ? record.workers.length === 0 : readyWorkers(record) >= min;
}

/** Whether the last write, at `lastAppliedTime` (RFC 3339), may still take effect. `now`: ms since the epoch. */
export function isSettling(lastAppliedTime: string | undefined, now: number): boolean {
  return lastAppliedTime !== undefined && now - Date.parse(lastAppliedTime) < SETTLE_MS;
}

/** Whether `suspend` was set back to false and no read has shown workers since. */
export function isResuming({ spec, status }: GpuEndpoint): boolean {
  const stopped = getCondition(status?.conditions, "Stopped");
  return !spec.suspend && stopped !== undefined && stopped.reason !== "Resumed";
}

/** The service may not show a new endpoint yet: its absence proves nothing. */
function isNew(endpoint: GpuEndpoint, now: number): boolean {
  const { submission } = endpoint.status ?? {};
  return submission?.state === "Accepted" && now - Date.parse(submission.time) < LOOKUP_MS;
}

/** Whether the user has changed the spec, or requests a reconcile, and the status does not show it. */
function hasChange(endpoint: GpuEndpoint): boolean {
  return !isApplied(endpoint) || reconcileRequestOf(endpoint) !== undefined;
}

function needsFreshRead(endpoint: GpuEndpoint, swept: EndpointRecord, now: number): boolean {
  if (hasChange(endpoint)) return true;
  const differed = getCondition(endpoint.status?.conditions, "Synced")?.status === "False";
  return isSettling(endpoint.status?.lastAppliedTime, now) && (differed || !isSettled(swept));
}

/** The record with all that the service can show. Only an endpoint with volumes has fields that a plain read lacks. */
export async function completed(
  { account, endpoint, signal }: Pick<BindingFacts, "account" | "endpoint" | "signal">,
  record: EndpointRecord,
  when: "Now" | "Remembered",
): Promise<EndpointRecord> {
  const hasVolumes = record.volumes.length > 0 || (endpoint.spec.volumes ?? []).length > 0;
  return hasVolumes ? account.endpoints.complete(record, when, signal) : record;
}

/** The state of a create whose response was lost, at the deletion of its object. */
export type LostCreate =
  | { kind: "Found"; endpointID: string }
  /** The create had no effect, or its endpoint is another object's or client's. */
  | { kind: "None" }
  /** The endpoint may still show. */
  | { kind: "LookAgain" }
  /** The endpoint may run where the current key does not see it: a user must act. */
  | { kind: "NotShown"; message: string };

type LostCreateInput = Pick<Step, "shared" | "account" | "endpoint" | "entry" | "unknownForMs"> & {
  context: Pick<ReconcileContext, "signal">;
  claims: Pick<Claims, "belongsToAnother">;
};

/**
 * Looks for the endpoint of a create whose response was lost. An object without an open create is searched for as well: users and
 * restores can remove its record.
 */
export async function findLostCreate(input: LostCreateInput): Promise<LostCreate> {
  const { shared, account, claims, endpoint, entry, unknownForMs, context } = input;
  const { signal } = context;
  const now = shared.clock.now();
  const appName = appNameOf(endpoint, shared.clusterUID);
  if (entry === undefined) {
    const [found] = await account.endpoints.find(appName, signal);
    return found === undefined ? { kind: "None" } : { kind: "Found", endpointID: found.id };
  }
  // The namespace may be deleted with its Secrets, so every field but the environment has to match.
  const desired = desiredEndpoint(endpoint, shared.clusterUID, []);
  const isOurs = (record: EndpointRecord, sentAt: number) => isOurCreate({ desired }, record, sentAt, ["env"]);
  const binding = await observeBinding({ endpoint, account, entry, unknownForMs, appName, isOurs, now, signal });
  if (binding.kind === "Bound") return { kind: "Found", endpointID: binding.endpointID };
  if (binding.kind === "Unbound") return { kind: "None" };

  const { candidate, sentAt, key, accepted } = binding;
  if (candidate !== undefined && !claims.belongsToAnother(endpoint, candidate.id)) {
    const ours = endpoint.spec.appName === undefined || isOurs(candidate, sentAt);
    if (ours) return { kind: "Found", endpointID: candidate.id };
    const note = `Endpoint ${candidate.id} has app name ${appName}, but may belong to another client: Mooring does not change it`;
    shared.recorder.warning(endpoint, "AppNameTaken", "Delete", note);
  }
  const mayShow = candidate === undefined && binding.unknownForMs < LOOKUP_MS;
  if (mayShow || key === "Changed") return { kind: "LookAgain" };
  if (key === "Other") {
    return { kind: "NotShown", message: `${notShownToKey(sentAt)}. Put the former key into the Secret of the account` };
  }
  if (candidate === undefined && accepted) {
    return { kind: "NotShown", message: `${acceptedWithoutID(sentAt, appName)}: look for it in the service's records` };
  }
  if (candidate !== undefined || account.vanished() === 0) return { kind: "None" };
  const message = `The response to the create was lost, and the service shows no endpoint of this account with the current key, so it is unknown whether ${endpoint.metadata.name} was created. Put a key that sees the account's endpoints into its Secret`;
  return { kind: "NotShown", message };
}
