import { stringify } from "yaml";
import { KINDS } from "../../../src/api/v1alpha1/kinds.ts";
import type { Stage } from "../stage/stage.ts";
import type { Day } from "./day.ts";

const KEPT_KINDS = [
  ...KINDS.filter(({ resource }) => resource.namespaced).map(({ resource }) => resource.kind),
  "ConfigMap",
];
/** Each bucket follows from the sum and the count, and these sums are measured in real time. */
const LEFT_OUT =
  /_bucket\{|^(?:rest_client_request_duration|controller_runtime_reconcile_time|workqueue_work_duration)_seconds_sum/;

/**
 * All that a day shows to the service, to the API server and to users, as a text for readers: whatever a change of the operator changes of it
 * is a difference of two texts. Values that random numbers decide are replaced.
 */
export async function recordingOf({ stage, metrics, writes }: Day): Promise<string> {
  const page = await metrics.registry.metrics();
  const sections = {
    "Requests that change something at the service": await changesAt(stage),
    "Reads of the service": countsOf(await readsAt(stage)),
    "Writes of objects": countsOf(writes),
    Events: eventsIn(stage),
    Objects: await objectsIn(stage),
    Metrics: page.split("\n").filter((line) => line !== "" && !line.startsWith("#") && !LEFT_OUT.test(line)),
  };
  const texts = Object.entries(sections).map(([title, lines]) => `## ${title}\n\n${lines.join("\n")}\n`);
  return texts.join("\n").replaceAll(UID, "(uid)").replaceAll(HASH, "(hash)");
}

const UID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
/** Without a letter, it is a number. */
const HASH = /\b(?=\d*[a-f])[0-9a-f]{10,64}\b/g;

const isRead = ({ method }: { method: string }) => method === "GET";

async function changesAt(stage: Stage): Promise<string[]> {
  const changes = (await stage.audit()).filter((call) => !isRead(call));
  return changes.map(({ time, operation, status, body }) => `${time} ${operation} ${status} ${JSON.stringify(body)}`);
}

async function readsAt(stage: Stage): Promise<string[]> {
  return (await stage.audit()).filter(isRead).map(({ operation, status }) => `${operation} ${status}`);
}

function eventsIn({ storage }: Stage): string[] {
  const events = [...storage.collection("events.events.k8s.io").objects.values()];
  return events
    .map(({ eventTime, type, reason, regarding, note, series }) => {
      const count = Reflect.get(Object(series), "count") ?? 1;
      return `${eventTime} ${type} ${reason} ${Reflect.get(Object(regarding), "name")} ${count}: ${note}`;
    })
    .sort();
}

async function objectsIn(stage: Stage): Promise<string[]> {
  const lists = await Promise.all(KEPT_KINDS.map((kind) => stage.list(kind)));
  return lists.flat().map(({ kind, metadata: { resourceVersion: _, ...metadata }, status, ...object }) => {
    const data: unknown = Reflect.get(object, "data");
    return stringify({ kind, metadata, status, data }, { lineWidth: 0 });
  });
}

/** Each text with how often it occurs. */
function countsOf(texts: readonly string[]): string[] {
  const groups = Object.entries(Object.groupBy(texts, (text) => text));
  return groups.map(([text, of = []]) => `${text}: ${of.length}`).sort();
}
