import type { Registry } from "prom-client";
import { getCondition, needsUser } from "../api/v1alpha1/conditions.ts";
import type { Clock } from "../base/clock.ts";
import type { Condition, KubeObject } from "../kube/types.ts";
import { addGauge, oncePerScrape } from "../runtime/gauge.ts";

type WatchedObject = Pick<KubeObject, "metadata"> & { status?: { conditions?: Condition[]; phase?: unknown } };
export type ObjectLists = Readonly<Record<string, () => Iterable<WatchedObject>>>;
type Stuck = { labels: { kind: string; namespace: string; state: "Stalled" | "Deleting" }; since: string };

/**
 * Metrics of stuck objects, by kind and namespace: no series of its own for any of them. `objects`: the
 * objects of each kind, by the name of the kind.
 */
export function registerObjectMetrics(registry: Registry, objects: ObjectLists, clock: Pick<Clock, "now">): void {
  const labelNames = ["kind", "namespace", "state"] as const;
  const stuck = oncePerScrape(() =>
    Object.entries(objects).flatMap(([kind, list]) => [...list()].flatMap((object) => stuckOf(kind, object) ?? [])),
  );
  addGauge(registry, {
    name: "mooring_stuck_objects",
    help: "Objects that need a user (Stalled) and objects whose deletion is not complete (Deleting), by kind and namespace; absent when there is none. The namespace of a cluster-scoped object is empty",
    labelNames,
    combine: "Sum",
    read: () => stuck().map(({ labels }) => [labels, 1]),
  });
  addGauge(registry, {
    name: "mooring_stuck_objects_oldest_seconds",
    help: "How long the oldest object that mooring_stuck_objects counts has been in its state",
    labelNames,
    combine: "Max",
    read: () => stuck().map(({ labels, since }) => [labels, Math.max(0, clock.now() - Date.parse(since)) / 1000]),
  });
}

function stuckOf(kind: string, { metadata, status }: WatchedObject): Stuck | undefined {
  const { namespace = "", deletionTimestamp } = metadata;
  if (deletionTimestamp !== undefined) {
    return { labels: { kind, namespace, state: "Deleting" }, since: deletionTimestamp };
  }
  const stalled = getCondition(status?.conditions, "Stalled");
  if (stalled === undefined || !needsUser(status)) return undefined;
  return { labels: { kind, namespace, state: "Stalled" }, since: stalled.lastTransitionTime };
}
