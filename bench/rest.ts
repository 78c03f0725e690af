import { setTimeout as sleep } from "node:timers/promises";
import { costsBetween, observeOperator } from "./costs.ts";
import { dividedBy, sumOf } from "./counts.ts";
import { countsOf, type MeasuredOperator } from "./operator-process.ts";
import type { RestFigures } from "./scenario-figures.ts";
import { journalSize, type Measured } from "./start.ts";

/** How long the operator rests before the measurement, and how long the measurement takes. */
export type RestTimes = { calmSeconds: number; restSeconds: number };

/** From then on the process is slower: its inspector is open. */
export async function observeRest(
  { cluster, client, signal }: Measured,
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
  const journalCharacters = await journalSize(client);
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
    journalCharacters,
  };
}
