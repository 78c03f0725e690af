import { setTimeout as sleep } from "node:timers/promises";
import type { BenchOptions } from "./cluster.ts";
import { costsBetween, observeOperator } from "./costs.ts";
import { dividedBy, sumOf } from "./counts.ts";
import { countsOf, type MeasuredOperator } from "./operator-process.ts";
import { withReadyEndpoints } from "./ready-endpoints.ts";
import type { Rest, RestFigures } from "./scenario-figures.ts";
import type { Measured } from "./start.ts";

/** How long the operator rests before the measurement, and how long the measurement takes. */
export type RestTimes = { calmSeconds: number; restSeconds: number };
export type RestOptions = BenchOptions & RestTimes & { endpoints: number };

/** What endpoints cost while nothing happens. */
export function measureRest(options: RestOptions): Promise<Rest> {
  return withReadyEndpoints(options, async ({ operator, machine, endpoints, ...measured }) => {
    const rest = await observeRest(measured, operator, options);
    return { scenario: "rest", machine, size: { endpoints }, rest };
  });
}

/** From then on the process is slower: its inspector is open. */
export async function observeRest(
  { cluster, signal }: Pick<Measured, "cluster" | "signal">,
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
