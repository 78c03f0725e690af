import { getCondition } from "../../api/v1alpha1/conditions.ts";
import type { GpuEndpoint } from "../../api/v1alpha1/gpu-endpoint.ts";
import type { EndpointRecord } from "../../provider/endpoints/endpoint-record.ts";
import { isServing, readyWorkers } from "../../provider/endpoints/endpoint-status.ts";
import type { JournalEntry } from "../../submission/journal.ts";
import type { AccountHandle } from "../account/registry.ts";
import { reconcileRequestOf } from "../reconciler.ts";
import { type Binding, LOOKUP_MS } from "./plan.ts";

/** After a write the endpoint is read alone until it has settled, this long at most; then the sweep suffices. */
export const SETTLE_MS = 5 * 60_000;

export type BindingFacts = {
  endpoint: GpuEndpoint;
  account: AccountHandle;
  /** The journal's entry for this object, if it has one. */
  entry: JournalEntry | undefined;
  /** How long this process has known that the entry's outcome is unknown. */
  unknownForMs: number;
  appName: string;
  now: number;
  /** Reads a bound endpoint alone, whatever the sweep shows. */
  fresh?: boolean;
  signal: AbortSignal;
};

/** Finds out what remote endpoint this object stands for. @throws ServiceError when the service cannot be asked */
export async function observeBinding(facts: BindingFacts): Promise<Binding> {
  const { endpoint, entry } = facts;
  const endpointID = entry?.outcome?.endpointID ?? endpoint.status?.endpointID;
  const unresolved = entry !== undefined && entry.outcome === undefined;
  if (unresolved) {
    const candidate = await searchCreated(facts);
    return { kind: "CreateUnknown", candidate, sentAt: Date.parse(entry.time), unknownForMs: facts.unknownForMs };
  }
  if (endpointID === undefined || endpointID === "") return observeUnbound(facts);
  return observeBound(facts, endpointID);
}

/**
 * What became of a create whose answer was lost. What `keyword` matches is not shown in the interface, so before the
 * create counts as never happened, the whole list is read once more and compared name by name.
 */
async function searchCreated({ account, appName, unknownForMs, signal }: BindingFacts) {
  const found = (await account.endpoints.find(appName, signal)) ?? account.endpoints.observed.byAppName(appName);
  if (found !== undefined || unknownForMs < LOOKUP_MS) return found;
  await account.endpoints.observed.next(signal);
  return account.endpoints.observed.byAppName(appName);
}

async function observeUnbound({ endpoint, account, appName, signal }: BindingFacts): Promise<Binding> {
  const { adoption } = endpoint.spec;
  if (adoption !== undefined) {
    const record = await account.endpoints.read(adoption.endpointID, signal);
    const adopt = record === undefined ? "NotFound" : await completed(account, endpoint, record, "Now", signal);
    return { kind: "Unbound", candidate: undefined, adopt };
  }
  // One sweep shows every app name of the account, so 2,000 new objects cost pages, not 2,000 searches. A name that a
  // person chose may have been taken a moment ago by somebody else: it is searched for.
  await account.endpoints.observed.first(signal);
  const known = account.endpoints.observed.byAppName(appName);
  const candidate =
    known ?? (endpoint.spec.appName === undefined ? undefined : await account.endpoints.find(appName, signal));
  return { kind: "Unbound", candidate, adopt: undefined };
}

async function observeBound(facts: BindingFacts, endpointID: string): Promise<Binding> {
  const { endpoint, account, now, signal } = facts;
  const swept = account.endpoints.observed.get(endpointID);
  if (swept !== undefined && facts.fresh !== true && !needsFreshRead(endpoint, swept, now)) {
    const record = await completed(account, endpoint, swept, "Remembered", signal);
    return { kind: "Bound", endpointID, record, fresh: false, provenGone: false };
  }
  const record = await account.endpoints.read(endpointID, signal);
  if (record === undefined) {
    const provenGone = account.endpoints.observed.gone(endpointID) && !isNew(endpoint, now);
    return { kind: "Bound", endpointID, record: undefined, fresh: true, provenGone };
  }
  const settlingOnly = facts.fresh !== true && isApplied(endpoint) && reconcileRequestOf(endpoint) === undefined;
  const whole = await completed(account, endpoint, record, settlingOnly ? "Remembered" : "Now", signal);
  return { kind: "Bound", endpointID, record: whole, fresh: true, provenGone: false };
}

export function isApplied(endpoint: GpuEndpoint): boolean {
  return endpoint.status?.appliedGeneration === endpoint.metadata.generation;
}

/** Serves with as many workers as asked for, or without any when none is: nothing more is expected to change by itself. */
export function isSettled(record: EndpointRecord): boolean {
  const { min = 0, max } = record.scaling;
  if (!isServing(record)) return false;
  return max === 0 ? record.workers.length === 0 : readyWorkers(record) >= min;
}

export function isSettling(endpoint: GpuEndpoint, now: number): boolean {
  const { lastAppliedTime } = endpoint.status ?? {};
  return lastAppliedTime !== undefined && now - Date.parse(lastAppliedTime) < SETTLE_MS;
}

/** `suspend` was taken back, and the remote was not seen with workers since. */
export function isResuming({ spec, status }: GpuEndpoint): boolean {
  const stopped = getCondition(status?.conditions, "Stopped");
  return !spec.suspend && stopped !== undefined && stopped.reason !== "Resumed";
}

/** What was created a moment ago may not show yet: its absence proves nothing. */
function isNew(endpoint: GpuEndpoint, now: number): boolean {
  const { submission } = endpoint.status ?? {};
  return submission !== undefined && now - Date.parse(submission.time) < LOOKUP_MS;
}

function needsFreshRead(endpoint: GpuEndpoint, swept: EndpointRecord, now: number): boolean {
  if (!isApplied(endpoint) || reconcileRequestOf(endpoint) !== undefined) return true;
  const differed = getCondition(endpoint.status?.conditions, "Synced")?.status === "False";
  return isSettling(endpoint, now) && (differed || !isSettled(swept));
}

/** The record with all that the service can show. Only an endpoint with volumes has fields that a plain read lacks. */
export async function completed(
  account: AccountHandle,
  { spec }: GpuEndpoint,
  record: EndpointRecord,
  when: "Now" | "Remembered",
  signal: AbortSignal,
): Promise<EndpointRecord> {
  const hasVolumes = record.volumes.length > 0 || (spec.volumes ?? []).length > 0;
  return hasVolumes ? account.endpoints.complete(record, when, signal) : record;
}
