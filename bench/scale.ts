import { timeBareList } from "./bare-list.ts";
import { bareRestMiB } from "./bare-rest.ts";
import { type BenchOptions, clientOf, startBenchCluster } from "./cluster.ts";
import type { ScalePoint } from "./figures.ts";
import { describeMachine } from "./machine.ts";
import { createEndpoints, createFinishedJobs } from "./objects.ts";
import { startOperator } from "./operator-process.ts";
import { observeRest, type RestTimes } from "./rest.ts";
import { measureStart } from "./start.ts";

export type ScaleOptions = BenchOptions &
  RestTimes & {
    /** GpuEndpoints. */
    endpoints: number;
    /** Finished jobs for each GpuEndpoint. */
    jobShare: number;
  };

/** Measures one size: a new control plane, a start that creates every remote endpoint, a list, a restart, and the operator at rest. */
export async function measureScale(options: ScaleOptions): Promise<ScalePoint> {
  const { endpoints, jobShare, say, signal } = options;
  const cluster = await startBenchCluster(options);
  const client = await clientOf(cluster);
  try {
    const machine = await describeMachine(cluster.kubectl);
    const jobs = Math.round(endpoints * jobShare);
    const began = performance.now();
    await createEndpoints(client, endpoints);
    await createFinishedJobs(client, jobs);
    const createSeconds = (performance.now() - began) / 1_000;
    say(`${endpoints} endpoints and ${jobs} finished jobs after ${createSeconds.toFixed(0)} s`);

    const measured = { cluster, client, endpoints, jobs, signal };
    const first = await startOperator(cluster, "first-operator");
    const drain = await measureStart(measured, first);
    say(`drain: ${JSON.stringify(drain)}`);
    await first.stop();
    const bareListSeconds = await timeBareList(cluster, signal);
    say(`bare list: ${bareListSeconds.toFixed(1)} s`);
    const bareMiB = await bareRestMiB(cluster, options.calmSeconds, signal);
    say(`bare at rest: ${bareMiB.toFixed(0)} MiB`);
    const second = await startOperator(cluster, "second-operator");
    const restart = await measureStart(measured, second);
    say(`restart: ${JSON.stringify(restart)}`);
    const rest = await observeRest(measured, second, options);
    say(`rest: ${JSON.stringify(rest)}`);
    const { create = 0 } = await cluster.remote.stats();
    const bare = { bareListSeconds, bareRestMiB: bareMiB };
    return { machine, endpoints, jobs, createSeconds, drain, ...bare, restart, rest, creates: create };
  } finally {
    await client.close();
    await cluster.stop();
  }
}
