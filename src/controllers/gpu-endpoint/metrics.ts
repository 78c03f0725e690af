import { Histogram, type Registry } from "prom-client";
import type { Account, ClusterAccount } from "../../api/v1alpha1/account.ts";
import { getCondition, isTrue } from "../../api/v1alpha1/conditions.ts";
import type { GpuEndpoint, GpuEndpointStatus } from "../../api/v1alpha1/gpu-endpoint.ts";
import type { Clock } from "../../base/clock.ts";
import { addGauge, oncePerScrape } from "../../runtime/gauge.ts";
import { type AccountKey, accountKey } from "../account/registry.ts";
import type { EndpointMemory } from "./memory.ts";

type EndpointState = "Ready" | "NotReady" | "Progressing" | "Stopped" | "Stalled" | "Deleting";

export type EndpointMetrics = {
  /** A status was written after that of `endpoint`. `memory`: what this process remembers of it. */
  moved(endpoint: GpuEndpoint, status: GpuEndpointStatus, memory: Pick<EndpointMemory, "unready">): void;
};

/** In seconds: up to half an hour for a large image, up to a day for drift that nobody corrects. */
const TO_READY = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800];
const DRIFTED = [1, 5, 15, 30, 60, 120, 300, 900, 3600, 21_600, 86_400];

/** Metrics over all endpoints, without a series per endpoint. */
export function createEndpointMetrics(
  registry: Registry,
  objects: { endpoints: () => Iterable<GpuEndpoint>; accounts: () => Iterable<[AccountKey, Account | ClusterAccount]> },
  clock: Pick<Clock, "now">,
): EndpointMetrics {
  const registers = [registry];
  const read = oncePerScrape(() => readEndpoints(objects.endpoints()));
  addGauge(registry, {
    name: "mooring_endpoints",
    help: "GpuEndpoints by state; each counts in one state",
    labelNames: ["state"],
    read: () => Object.entries(read().states).map(([state, count]) => [{ state }, count]),
  });
  addGauge(registry, {
    name: "mooring_endpoints_drifted",
    help: "GpuEndpoints whose remote endpoint differs from the spec",
    read: () => [[{}, read().drifting.length]],
  });
  addGauge(registry, {
    name: "mooring_account_orphaned_endpoints",
    help: "Orphaned endpoints: their app name is generated, and no GpuEndpoint of this cluster is bound to them",
    labelNames: ["account"],
    read: () => [...objects.accounts()].map(([account, { status }]) => [{ account }, status?.endpoints?.orphaned ?? 0]),
  });
  registerDrift(registry, () => read().drifting, clock);
  const toReady = new Histogram({
    name: "mooring_endpoint_ready_seconds",
    help: "Time from the creation of a GpuEndpoint to its first Ready",
    buckets: TO_READY,
    registers,
  });
  const drift = new Histogram({
    name: "mooring_endpoint_drift_seconds",
    help: "How long a remote endpoint differed from its spec, observed when the difference ends",
    buckets: DRIFTED,
    registers,
  });

  return {
    moved({ metadata, status: before }, after, memory) {
      const now = clock.now();
      if (before?.endpointID === undefined) memory.unready = true;
      if (isTrue(after.conditions, "Ready") && memory.unready) {
        memory.unready = false;
        toReady.observe(Math.max(0, now - Date.parse(metadata.creationTimestamp)) / 1000);
      }
      const was = syncedOf(before);
      if (was?.status === "False" && syncedOf(after)?.status === "True") {
        drift.observe(Math.max(0, now - Date.parse(was.lastTransitionTime)) / 1000);
      }
    },
  };
}

type Drifting = { labels: { account: string; namespace: string }; since: number };

/** What a scrape shows of the endpoints: one pass over all of them. */
function readEndpoints(endpoints: Iterable<GpuEndpoint>): {
  states: Record<EndpointState, number>;
  drifting: Drifting[];
} {
  const states = { Ready: 0, NotReady: 0, Progressing: 0, Stopped: 0, Stalled: 0, Deleting: 0 };
  const drifting: Drifting[] = [];
  for (const endpoint of endpoints) {
    states[stateOf(endpoint)]++;
    const { metadata, status } = endpoint;
    const synced = syncedOf(status);
    if (synced?.status !== "False") continue;
    const { namespace } = metadata;
    const bound = status?.account;
    const account = bound === undefined ? "" : accountKey(bound.kind, bound.name, namespace);
    drifting.push({ labels: { account, namespace }, since: Date.parse(synced.lastTransitionTime) });
  }
  return { states, drifting };
}

/** The endpoints that drift now. */
function registerDrift(registry: Registry, drifting: () => readonly Drifting[], clock: Pick<Clock, "now">): void {
  const labelNames = ["account", "namespace"] as const;
  addGauge(registry, {
    name: "mooring_namespace_endpoints_drifted",
    help: "GpuEndpoints whose remote endpoint differs from the spec, by account and namespace; absent when there is none",
    labelNames,
    combine: "Sum",
    read: () => drifting().map(({ labels }) => [labels, 1]),
  });
  addGauge(registry, {
    name: "mooring_namespace_endpoints_drifted_oldest_seconds",
    help: "How long the endpoint that has differed longest has differed from its spec, by account and namespace",
    labelNames,
    combine: "Max",
    read: () => drifting().map(({ labels, since }) => [labels, Math.max(0, clock.now() - since) / 1000]),
  });
}

const syncedOf = (status: GpuEndpointStatus | undefined) => getCondition(status?.conditions, "Synced");

/** The state of an endpoint for the metric: the first that applies. */
export function stateOf({ metadata, status }: GpuEndpoint): EndpointState {
  const conditions = status?.conditions;
  if (metadata.deletionTimestamp !== undefined) return "Deleting";
  if (isTrue(conditions, "Stalled")) return "Stalled";
  if (isTrue(conditions, "Stopped")) return "Stopped";
  if (isTrue(conditions, "Ready")) return "Ready";
  if (isTrue(conditions, "Reconciling") || getCondition(conditions, "Ready")?.reason === "Pending")
    return "Progressing";
  return "NotReady";
}
