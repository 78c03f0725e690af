import { type Counts, countsBetween } from "./counts.ts";
import { metricBy } from "./metric.ts";
import { countsOf, type MeasuredOperator } from "./operator-process.ts";
import type { ProcessUsage } from "./process-usage.ts";
import { type MinimalRemote, operationsIn } from "./remotes.ts";

/** What an operator costs. API requests are by verb, and remote calls by operation. The start of a watch is one request. */
export type Costs = { cpuSeconds: number; reconciles: number; apiRequests: Counts; remoteCalls: Counts };

/** One look at an operator: its /metrics, its process, and what it cost since its start and the last reset of the remote. */
export type OperatorObservation = { metrics: string; usage: ProcessUsage; costs: Costs };

export async function observeOperator(operator: MeasuredOperator, remote: MinimalRemote): Promise<OperatorObservation> {
  const metrics = (await operator.metrics()) ?? "";
  const [usage, stats] = await Promise.all([operator.usage(), remote.stats()]);
  const apiRequests = metricBy(metrics, "rest_client_requests_total", "method");
  const { reconciles } = countsOf(metrics);
  return {
    metrics,
    usage,
    costs: { cpuSeconds: usage.cpuSeconds, reconciles, apiRequests, remoteCalls: operationsIn(stats) },
  };
}

export function costsBetween(before: Costs, after: Costs): Costs {
  return {
    cpuSeconds: after.cpuSeconds - before.cpuSeconds,
    reconciles: after.reconciles - before.reconciles,
    apiRequests: countsBetween(before.apiRequests, after.apiRequests),
    remoteCalls: countsBetween(before.remoteCalls, after.remoteCalls),
  };
}
