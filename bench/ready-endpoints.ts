import type { KubeClient } from "../src/kube/client.ts";
import { type BenchCluster, type BenchOptions, clientOf, startBenchCluster } from "./cluster.ts";
import { describeMachine, type Machine } from "./machine.ts";
import { createEndpoints } from "./objects.ts";
import { type MeasuredOperator, startOperator } from "./operator-process.ts";
import { measureStart } from "./start.ts";

/** A cluster whose endpoints an operator has made Ready. `signal` aborts at the end, too. */
export type ReadyEndpoints = {
  cluster: BenchCluster;
  client: KubeClient;
  machine: Machine;
  operator: MeasuredOperator;
  endpoints: number;
  signal: AbortSignal;
};

/** Measures with endpoints that are Ready, on a cluster of its own. `start`: of the cluster. */
export async function withReadyEndpoints<T>(
  options: BenchOptions & { endpoints: number },
  measure: (ready: ReadyEndpoints) => Promise<T>,
  start: (options: BenchOptions) => Promise<BenchCluster> = startBenchCluster,
): Promise<T> {
  const { endpoints, say } = options;
  const cluster = await start(options);
  const client = await clientOf(cluster);
  const ended = new AbortController();
  try {
    const signal = AbortSignal.any([options.signal, cluster.guarded.failed, ended.signal]);
    const machine = await describeMachine(cluster.kubectl);
    await createEndpoints(client, endpoints);
    const operator = await startOperator(cluster, "operator");
    const { seconds } = await measureStart({ cluster, client, endpoints, jobs: 0, signal }, operator);
    say(`${endpoints} endpoints are Ready after ${seconds.toFixed(0)} s`);
    return await measure({ cluster, client, machine, operator, endpoints, signal });
  } finally {
    ended.abort(new Error("the measurement is over"));
    await client.close();
    await cluster.stop();
  }
}
