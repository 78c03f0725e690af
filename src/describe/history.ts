import { isProbedOnly } from "../api/v1alpha1/account.ts";
import type { KubeClient } from "../kube/client.ts";
import { eventResource } from "../kube/resource.ts";
import type { KubeObject } from "../kube/types.ts";
import type { AnyObject } from "./object-state.ts";

/** An event of events.k8s.io/v1. `series`: it was repeated. */
export type KubeEvent = KubeObject & {
  type: string;
  reason: string;
  note: string;
  eventTime: string;
  series?: { count: number; lastObservedTime: string };
};

export type Moment = {
  /** RFC 3339. */
  time: string;
  what: string;
  text: string;
};

/** Events of a cluster-scoped object are in namespace default. */
export async function eventsOf(kube: KubeClient, { metadata }: KubeObject): Promise<KubeEvent[]> {
  const place = { namespace: metadata.namespace ?? "default" };
  const query = { fieldSelector: `regarding.uid=${metadata.uid}` };
  return (await kube.list<KubeEvent>(eventResource, place, { query })).items;
}

/** What happened to the object, oldest first. */
export function historyOf({ metadata, status }: AnyObject, events: readonly KubeEvent[]): Moment[] {
  const moments: Moment[] = [{ time: metadata.creationTimestamp, what: "Object", text: "created" }];
  const { submission, server, conditions = [] } = status ?? {};
  if (submission !== undefined) {
    const { attempt, state, time } = submission;
    moments.push({ time, what: "Request", text: `attempt ${attempt}: ${state}` });
  }
  if (server !== undefined) {
    const process = `process ${server.namespace}/${server.lease}`;
    const { since, released } = server;
    if (isProbedOnly(server)) {
      moments.push({ time: since, what: "Server", text: `${process} probed the account, which no object needed` });
    } else {
      moments.push({ time: since, what: "Server", text: `${process} serves the account` });
      if (released !== undefined) moments.push({ time: released, what: "Server", text: `${process} released it` });
    }
  }
  for (const { type, status: value, reason, lastTransitionTime } of conditions) {
    moments.push({ time: lastTransitionTime, what: "Condition", text: `${type}=${value} (${reason})` });
  }
  for (const { type, reason, note, eventTime, series } of events) {
    const times = series === undefined ? "" : ` (${series.count} times)`;
    const text = `${type === "Warning" ? "Warning " : ""}${reason}${times}: ${note}`;
    moments.push({ time: series?.lastObservedTime ?? eventTime, what: "Event", text });
  }
  if (metadata.deletionTimestamp !== undefined) {
    moments.push({ time: metadata.deletionTimestamp, what: "Object", text: "deletion requested" });
  }
  // The condition of a new object has the epoch as its time.
  return moments.filter(({ time }) => Date.parse(time) > 0).sort((a, b) => Date.parse(a.time) - Date.parse(b.time));
}
