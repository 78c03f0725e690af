import { setTimeout as sleep } from "node:timers/promises";
import type { GpuEndpoint } from "../src/api/v1alpha1/gpu-endpoint.ts";
import { gpuEndpointResource } from "../src/api/v1alpha1/kinds.ts";
import type { BenchOptions } from "./cluster.ts";
import { hasWorkers } from "./endpoint-state.ts";
import { followObjects } from "./follow.ts";
import { quantile } from "./jobs.ts";
import { changeWorkers, endpointName } from "./objects.ts";
import { withReadyEndpoints } from "./ready-endpoints.ts";
import type { Latency } from "./scenario-figures.ts";
import { limitMs } from "./start.ts";

export type LatencyOptions = BenchOptions & { endpoints: number; changes: number };

/** Of the endpoints at their creation; a change adds 1. */
const FIRST_MAX = 2;
/** Between two changes, at most: the list of the service, once a minute, falls into some of them. */
const LONGEST_PAUSE_MS = 600;

type Change = { name: string; askedMs: number; storedMs: number };

/** Changes single endpoints, one after the other, while all others are at rest. */
export function measureLatency(options: LatencyOptions): Promise<Latency> {
  const { endpoints, say } = options;
  const changes = Math.min(options.changes, endpoints);
  return withReadyEndpoints(options, async ({ cluster, client, machine, signal }) => {
    const followed = await followObjects<GpuEndpoint>({ client, resource: gpuEndpointResource, signal });
    const isChanged = (endpoint: GpuEndpoint) => hasWorkers(endpoint, FIRST_MAX + 1);
    /** When an endpoint was Ready with its change, by name. */
    const readyMs = new Map<string, number>();
    followed.onChange(({ object }) => {
      const { name } = object.metadata;
      if (!readyMs.has(name) && isChanged(object)) readyMs.set(name, nowMs());
    });
    const wait = { matches: isChanged, count: changes, limitMs: limitMs(changes) + changes * LONGEST_PAUSE_MS };
    const allReady = followed.until("changed endpoints are Ready", wait);
    allReady.catch(() => undefined); // awaited at the end

    const made: Change[] = [];
    for (let index = 0; index < changes; index++) {
      await sleep(Math.random() * LONGEST_PAUSE_MS, undefined, { signal });
      // Spread over the list of the service.
      const name = endpointName(Math.floor((index * endpoints) / changes));
      const askedMs = nowMs();
      await changeWorkers(client, name, FIRST_MAX + 1);
      made.push({ name, askedMs, storedMs: nowMs() });
    }
    await allReady;
    const idOf = new Map(followed.list().map(({ metadata, status }) => [metadata.name, status?.endpointID ?? ""]));
    const arrived = await cluster.remote.updates();
    const figures = {
      changes,
      storeMs: quantilesOf(made, ({ askedMs, storedMs }) => storedMs - askedMs),
      updateMs: quantilesOf(made, ({ name, storedMs }) => (arrived[idOf.get(name) ?? ""] ?? Number.NaN) - storedMs),
      readyMs: quantilesOf(made, ({ name, storedMs }) => (readyMs.get(name) ?? Number.NaN) - storedMs),
    };
    say(`latency: ${JSON.stringify(figures)}`);
    return { scenario: "latency", machine, size: { endpoints }, ...figures };
  });
}

/** Since the epoch, finer than a millisecond. */
const nowMs = () => performance.timeOrigin + performance.now();

function quantilesOf(changes: readonly Change[], of: (change: Change) => number) {
  const sorted = changes.map(of).sort((a, b) => a - b);
  return { median: quantile(sorted, 0.5), p99: quantile(sorted, 0.99) };
}
