import { getCondition } from "../../api/v1alpha1/conditions.ts";
import type { GpuEndpoint } from "../../api/v1alpha1/gpu-endpoint.ts";
import { ANNOTATIONS } from "../../api/v1alpha1/meta.ts";
import { type EndpointRecord, withDetails } from "../../provider/endpoints/endpoint-record.ts";
import { isServing, readyWorkers } from "../../provider/endpoints/endpoint-status.ts";
import { ServiceError } from "../../provider/errors.ts";
import type { JournalEntry } from "../../submission/journal.ts";
import type { AccountHandle } from "../account/registry.ts";
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
  const found = (await lookUp(account, appName, signal)) ?? account.endpoints.byAppName(appName);
  if (found !== undefined || unknownForMs < LOOKUP_MS) return found;
  await account.endpoints.next(signal);
  return account.endpoints.byAppName(appName);
}

async function observeUnbound({ endpoint, account, appName, signal }: BindingFacts): Promise<Binding> {
  const { adoption } = endpoint.spec;
  if (adoption !== undefined) {
    const record = await read(account, adoption.endpointID, signal);
    const adopt = record === undefined ? "NotFound" : await completed(account, endpoint, record, "Now", signal);
    return { kind: "Unbound", candidate: undefined, adopt };
  }
  // One sweep shows every app name of the account, so 2,000 new objects cost pages, not 2,000 searches. A name that a
  // person chose may have been taken a moment ago by somebody else: it is searched for.
  await account.endpoints.first(signal);
  const known = account.endpoints.byAppName(appName);
  const candidate = known ?? (endpoint.spec.appName === undefined ? undefined : await lookUp(account, appName, signal));
  return { kind: "Unbound", candidate, adopt: undefined };
}

async function observeBound(facts: BindingFacts, endpointID: string): Promise<Binding> {
  const { endpoint, account, now, signal } = facts;
  const swept = account.endpoints.get(endpointID);
  if (swept !== undefined && facts.fresh !== true && !needsFreshRead(endpoint, swept, now)) {
    const record = await completed(account, endpoint, swept, "Remembered", signal);
    return { kind: "Bound", endpointID, record, fresh: false, provenGone: false };
  }
  const record = await read(account, endpointID, signal);
  if (record === undefined) {
    const provenGone = account.endpoints.gone(endpointID) && !isNew(endpoint, now);
    return { kind: "Bound", endpointID, record: undefined, fresh: true, provenGone };
  }
  const settlingOnly = facts.fresh !== true && isApplied(endpoint) && reconcileRequest(endpoint) === undefined;
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

/** The annotation that asks for a reconcile now, when it was not acted upon yet. */
export function reconcileRequest(endpoint: GpuEndpoint): string | undefined {
  const { annotations } = endpoint.metadata;
  const asked = annotations?.[ANNOTATIONS.reconcileRequestedAt] ?? annotations?.[ANNOTATIONS.fluxRequestedAt];
  return asked === endpoint.status?.lastHandledReconcileAt ? undefined : asked;
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
  if (!isApplied(endpoint) || reconcileRequest(endpoint) !== undefined) return true;
  const differed = getCondition(endpoint.status?.conditions, "Synced")?.status === "False";
  return isSettling(endpoint, now) && (differed || !isSettled(swept));
}

/**
 * The record, fresh and shared with the sweep, in the account's generation; undefined when the service does not know the
 * id.
 */
export async function read(
  account: AccountHandle,
  endpointID: string,
  signal: AbortSignal,
): Promise<EndpointRecord | undefined> {
  try {
    const record =
      account.generation === "Earlier"
        ? await account.client.getEndpointEarlier({ id: endpointID }, { signal })
        : await account.client.getEndpoint({ endpointID }, { signal });
    account.endpoints.observe(record);
    return record;
  } catch (error) {
    if (error instanceof ServiceError && error.kind === "NotFound") return undefined;
    throw error;
  }
}

/**
 * The record with what only the earlier generation shows, where that matters: of endpoints with volumes. `Now` reads it,
 * `Remembered` takes what the account's slow sweep saw last.
 */
export async function completed(
  account: AccountHandle,
  { spec }: GpuEndpoint,
  record: EndpointRecord,
  when: "Now" | "Remembered",
  signal: AbortSignal,
): Promise<EndpointRecord> {
  const { details, client } = account;
  if (details === undefined || (record.volumes.length === 0 && (spec.volumes ?? []).length === 0)) return record;
  if (when === "Now") details.observe(await client.getEndpointEarlier({ id: record.id }, { signal }));
  else await details.first(signal).catch(() => undefined); // the sweep has told; what it does not show cannot differ
  const earlier = details.get(record.id);
  return earlier === undefined ? record : withDetails(record, earlier);
}

/** Searches the list for exactly this app name; `keyword` only narrows it (what it matches is not shown). */
export async function lookUp(
  account: AccountHandle,
  appName: string,
  signal: AbortSignal,
): Promise<EndpointRecord | undefined> {
  if (account.generation === "Earlier") {
    // This list knows no search, so everybody who looks for something shares one pass over it.
    await account.endpoints.next(signal);
    return account.endpoints.byAppName(appName);
  }
  let cursor: string | undefined;
  do {
    const page = await account.client.listEndpoints(
      { keyword: appName, limit: 100, ...(cursor === undefined ? {} : { cursor }) },
      { signal },
    );
    const found = page.data.find((record) => record.appName === appName);
    if (found !== undefined) {
      account.endpoints.observe(found);
      return found;
    }
    cursor = page.hasMore && page.nextCursor !== "" && page.nextCursor !== cursor ? page.nextCursor : undefined;
  } while (cursor !== undefined);
  return undefined;
}
