import { stringify } from "yaml";
import { eventsOf, historyOf, type KubeEvent } from "../describe/history.ts";
import { objectState } from "../describe/object-state.ts";
import { offersOf } from "../describe/offers.ts";
import { isForbidden } from "../kube/errors.ts";
import { actionsOf } from "./actions.ts";
import type { ClusterSession, Found } from "./cluster-session.ts";
import { mediaTypeOf } from "./media-type.ts";
import { rowOf } from "./row.ts";
import type { UiObject } from "./ui-object.ts";
import type { MomentView, ObjectView, ResultView } from "./view-types.ts";

/** Everything that the page of one object shows. Reads its events from the cluster. */
export async function objectView(session: ClusterSession, found: Found): Promise<ObjectView> {
  const { resource, object } = found;
  const { conditions = [], drift = [] } = object.status ?? {};
  const { events, missing } = await readEvents(session, object);
  return {
    row: { ...rowOf(resource.kind, object), message: objectState(object).message },
    actions: actionsOf(resource, object),
    commands: offersOf(resource.kind, object),
    conditions: conditions.map(({ lastTransitionTime, ...condition }) => ({ ...condition, since: lastTransitionTime })),
    drift: [...drift],
    facts: factsOf(object),
    results: resultsOf(resource.kind, object),
    history: timelineOf(object, events),
    eventsMissing: missing,
    spec: yamlOf(object.spec),
    status: yamlOf(withoutSignatures(object.status)),
  };
}

async function readEvents(
  { client }: ClusterSession,
  object: UiObject,
): Promise<{ events: KubeEvent[]; missing?: string }> {
  try {
    return { events: await eventsOf(client, object) };
  } catch (error) {
    if (isForbidden(error)) return { events: [], missing: "You may not list events in this namespace" };
    const reason = error instanceof Error ? error.message : String(error);
    return { events: [], missing: `The events cannot be read: ${reason}` };
  }
}

/** The history, with the times that the status of a job has besides. Oldest first. */
function timelineOf(object: UiObject, events: readonly KubeEvent[]): MomentView[] {
  const { startTime, submitTime, completionTime, nextAttemptTime } = object.status ?? {};
  const times: [string | undefined, string][] = [
    [startTime, "first reconciled"],
    [submitTime, "the service accepted the request"],
    [completionTime, "ended"],
    [nextAttemptTime, "the next attempt is sent"],
  ];
  const moments = times.flatMap(([time, text]) => (time === undefined ? [] : [{ time, what: "Job", text }]));
  return [...historyOf(object, events), ...moments].sort((a, b) => Date.parse(a.time) - Date.parse(b.time));
}

function factsOf({ metadata, spec, status }: UiObject): [string, string][] {
  const { workers, policy, baseURL } = spec;
  const observed = status?.workers;
  const facts: [string, string | number | undefined][] = [
    ["Image in the spec", spec.image],
    ["Image at the service", status?.image],
    ["Endpoint ID", status?.endpointID],
    ["URL", status?.url],
    ["State at the service", status?.remote?.status],
    ["Error at the service", status?.remote?.error],
    ["Workers in the spec", workers && `${workers.min} to ${workers.max}`],
    ["Workers now", observed && `${observed.ready ?? 0} ready of ${observed.total ?? 0}`],
    ["Scaling policy", policy && `${policy.type}, ${policy.value}${policy.type === "queue" ? " s" : ""}`],
    ["Requests per worker", workers?.maxConcurrency],
    ["Idle timeout", workers && `${workers.idleTimeoutSeconds} s`],
    ["Task", status?.taskID],
    ["Status of the task", status?.remoteStatus],
    ["Attempts", status?.attempts],
    ["Duration", status?.duration],
    ["Base URL", baseURL],
    ["Account", status?.account && `${status.account.kind} ${status.account.name}`],
    ["Generation", metadata.generation],
  ];
  return facts.flatMap(([label, value]): [string, string][] =>
    value === undefined || value === "" ? [] : [[label, String(value)]],
  );
}

function resultsOf(kind: string, { metadata, status }: UiObject): ResultView[] {
  const path = [kind, metadata.namespace ?? "", metadata.name].map(encodeURIComponent).join("/");
  return (status?.results ?? []).map(({ artifact, url, address, type = "", expiresAt, ...result }, index) => ({
    kind: result.kind,
    type: mediaTypeOf(type),
    location: artifact?.uri ?? withoutQuery(url ?? address ?? ""),
    expiresAt: artifact === undefined ? expiresAt : undefined,
    bytes: artifact?.bytes,
    media: artifact === undefined && url === undefined ? undefined : `media/${path}/${index}`,
    file: `${metadata.name}-${index}.${/^[a-z0-9]{1,16}$/i.test(type) ? type : "bin"}`,
  }));
}

/** A signed URL gives access to the result. So the page gets results from its own server only. */
function withoutSignatures(status: UiObject["status"]): UiObject["status"] {
  if (status?.results === undefined) return status;
  const results = status.results.map(({ url, address, ...result }) => ({
    ...result,
    ...(url === undefined ? {} : { url: withoutQuery(url) }),
    ...(address === undefined ? {} : { address: withoutQuery(address) }),
  }));
  return { ...status, results };
}

function withoutQuery(url: string): string {
  const [path = "", ...query] = url.split("?");
  return query.length === 0 ? path : `${path}?(hidden)`;
}

function yamlOf(value: unknown): string {
  return value === undefined ? "" : stringify(value, { compat: "yaml-1.1", lineWidth: 0 });
}
