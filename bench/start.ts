import { setTimeout as sleep } from "node:timers/promises";
import type { KubeClient } from "../src/kube/client.ts";
import type { BenchCluster } from "./cluster.ts";
import type { ScaleStart } from "./figures.ts";
import { countsOf, type MeasuredOperator, type OperatorCounts } from "./operator-process.ts";
import { callsIn } from "./remotes.ts";

/** A cluster with that many GpuEndpoints and jobs. */
export type Measured = {
  cluster: BenchCluster;
  client: KubeClient;
  endpoints: number;
  jobs: number;
  signal: AbortSignal;
};

/** Far beyond what a slow machine takes for each object, and the least for a few of them. */
const MS_PER_OBJECT = 120;
const LEAST_MS = 5 * 60_000;

/** After this time, a measurement of that many objects has failed. */
export const limitMs = (objects: number) => Math.max(LEAST_MS, objects * MS_PER_OBJECT);

/** Until every endpoint is Ready and no object waits for a reconcile. */
export async function measureStart(measured: Measured, operator: MeasuredOperator): Promise<ScaleStart> {
  const { cluster, endpoints, signal } = measured;
  const since = () => (performance.now() - operator.startedAt) / 1_000;
  const callsBefore = callsIn(await cluster.remote.stats());
  const firstCall = untilFirstCall(cluster, callsBefore, signal).then(since);
  firstCall.catch(() => undefined); // awaited at the end
  // A scrape reads all objects, so it is rare where they are many.
  const intervalMs = Math.max(250, endpoints / 20);
  const limitSeconds = limitMs(endpoints) / 1_000;
  let lagP99Ms = 0;
  for (;;) {
    await sleep(intervalMs, undefined, { signal });
    cluster.guarded.failed.throwIfAborted();
    const text = await operator.metrics();
    const counts = countsOf(text ?? "");
    lagP99Ms = Math.max(lagP99Ms, counts.lagP99Ms);
    const isLate = since() > limitSeconds;
    if (!isSteady(counts, measured) && !isLate) continue;
    const seconds = since();
    const { cpuSeconds, peakMiB } = await operator.usage();
    const remoteCalls = callsIn(await cluster.remote.stats()) - callsBefore;
    const { readyEndpoints, reconciles, apiRequests } = counts;
    if (isLate) throw new Error(`${readyEndpoints} of ${endpoints} endpoints are Ready after ${seconds.toFixed(0)} s`);
    const figures = { seconds, firstCallSeconds: await firstCall, cpuSeconds, peakMiB, lagP99Ms };
    return { ...figures, reconciles, apiRequests, remoteCalls };
  }
}

/** Every endpoint is Ready, every object was reconciled, and none waits for a reconcile. */
export function isSteady(counts: OperatorCounts, { endpoints, jobs }: Pick<Measured, "endpoints" | "jobs">): boolean {
  return counts.readyEndpoints === endpoints && counts.reconciles >= endpoints + jobs && counts.busy === 0;
}

/** @param before all calls until then */
export async function untilFirstCall(
  { remote, guarded }: BenchCluster,
  before: number,
  signal: AbortSignal,
): Promise<void> {
  const ended = AbortSignal.any([signal, guarded.failed]);
  while (callsIn(await remote.stats()) === before) await sleep(20, undefined, { signal: ended });
}
