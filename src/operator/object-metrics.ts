import { Gauge, type Registry } from "prom-client";
import { getCondition, needsUser } from "../api/v1alpha1/conditions.ts";
import type { Clock } from "../base/clock.ts";
import type { Condition, KubeObject } from "../kube/types.ts";
import { oncePerScrape } from "../runtime/metrics.ts";

type WatchedObject = Pick<KubeObject, "metadata"> & { status?: { conditions?: Condition[]; phase?: unknown } };
export type ObjectLists = Readonly<Record<string, () => Iterable<WatchedObject>>>;
type Stuck = { kind: string; namespace: string; state: "Stalled" | "Deleting"; since: string };

/**
 * Metrics of stuck objects, by kind and namespace: no series of its own for any of them. `objects`: the
 * objects of each kind, by the name of the kind.
 */
export function registerObjectMetrics(registry: Registry, objects: ObjectLists, clock: Pick<Clock, "now">): void {
  const registers = [registry];
  const labelNames = ["kind", "namespace", "state"];
  const stuck = oncePerScrape(() => {
    const found: Stuck[] = [];
    for (const [kind, list] of Object.entries(objects)) {
      for (const object of list()) {
        const one = stuckOf(kind, object);
        if (one !== undefined) found.push(one);
      }
    }
    return found;
  });
  new Gauge({
    name: "mooring_stuck_objects",
    help: "Objects that need a user (Stalled) and objects whose deletion is not complete (Deleting), by kind and namespace; absent when there is none. The namespace of a cluster-scoped object is empty",
    labelNames,
    registers,
    collect() {
      this.reset();
      for (const { since: _, ...labels } of stuck()) this.inc(labels);
    },
  });
  new Gauge({
    name: "mooring_stuck_objects_oldest_seconds",
    help: "How long the oldest object that mooring_stuck_objects counts has been in its state",
    labelNames,
    registers,
    collect() {
      this.reset();
      const newestFirst = stuck().toSorted((a, b) => Date.parse(b.since) - Date.parse(a.since));
      for (const { since, ...labels } of newestFirst) {
        this.set(labels, Math.max(0, clock.now() - Date.parse(since)) / 1000);
      }
    },
  });
}

function stuckOf(kind: string, { metadata, status }: WatchedObject): Stuck | undefined {
  const { namespace = "", deletionTimestamp } = metadata;
  if (deletionTimestamp !== undefined) return { kind, namespace, state: "Deleting", since: deletionTimestamp };
  const stalled = getCondition(status?.conditions, "Stalled");
  if (stalled === undefined || !needsUser(status)) return undefined;
  return { kind, namespace, state: "Stalled", since: stalled.lastTransitionTime };
}
