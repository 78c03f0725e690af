import { setTimeout as sleep } from "node:timers/promises";
import { type BenchOptions, clientOf, startBenchCluster } from "./cluster.ts";
import { costsBetween, observeOperator } from "./costs.ts";
import { dividedBy, sumOf } from "./counts.ts";
import { describeMachine } from "./machine.ts";
import { createEndpoints } from "./objects.ts";
import { countsOf, type MeasuredOperator, startOperator } from "./operator-process.ts";
import type { Rest, RestFigures } from "./scenario-figures.ts";
import { type Measured, measureStart } from "./start.ts";

/** How long the operator rests before the measurement, and how long the measurement takes. */
export type RestTimes = { calmSeconds: number; restSeconds: number };
export type RestOptions = BenchOptions & RestTimes & { endpoints: number };

/** What endpoints cost while nothing happens. */
export async function measureRest(options: RestOptions): Promise<Rest> {
  const { endpoints, say, signal } = options;
  const cluster = await startBenchCluster(options);
  const client = await clientOf(cluster);
  try {
    const machine = await describeMachine(cluster.kubectl);
    await createEndpoints(client, endpoints);
    const operator = await startOperator(cluster, "operator");
    const measured = { cluster, client, endpoints, jobs: 0, signal };
    const { seconds } = await measureStart(measured, operator);
    say(`${endpoints} endpoints are Ready after ${seconds.toFixed(0)} s`);
    const rest = await observeRest(measured, operator, options);
    return { scenario: "rest", machine, size: { endpoints }, rest };
  } finally {
    await client.close();
    await cluster.stop();
  }
}

/** From then on the process is slower: its inspector is open. */
export async function observeRest(
  { cluster, signal }: Measured,
  operator: MeasuredOperator,
  { calmSeconds, restSeconds }: RestTimes,
): Promise<RestFigures> {
  const observe = async () => ({ ...(await observeOperator(operator, cluster.remote)), at: performance.now() });
  await sleep(calmSeconds * 1_000, undefined, { signal });
  const before = await observe();
  await sleep(restSeconds * 1_000, undefined, { signal });
  const after = await observe();
  const minutes = (after.at - before.at) / 60_000;
  const { cpuSeconds, reconciles, apiRequests, remoteCalls } = costsBetween(before.costs, after.costs);
  return {
    cpuMsPerMinute: (cpuSeconds * 1_000) / minutes,
    apiRequestsPerMinute: sumOf(apiRequests) / minutes,
    remoteCallsPerMinute: sumOf(remoteCalls) / minutes,
    reconcilesPerMinute: reconciles / minutes,
    apiRequests: dividedBy(apiRequests, minutes),
    remoteCalls: dividedBy(remoteCalls, minutes),
    lagP99Ms: countsOf(after.metrics).lagP99Ms,
    residentMiB: after.usage.residentMiB,
    heapMiB: await operator.heapAfterCollectionMiB(),
  };
}
