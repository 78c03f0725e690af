import type { GpuEndpoint } from "../src/api/v1alpha1/gpu-endpoint.ts";
import { gpuEndpointResource } from "../src/api/v1alpha1/kinds.ts";
import { waitUntil } from "../tools/cluster/wait-until.ts";
import type { BenchCluster, BenchOptions } from "./cluster.ts";
import { costsBetween, observeOperator } from "./costs.ts";
import { hasWorkers } from "./endpoint-state.ts";
import { type Followed, followObjects } from "./follow.ts";
import { changeWorkers, eachAtOnce, endpointName } from "./objects.ts";
import { countsOf } from "./operator-process.ts";
import { PAGE_SIZE } from "./plots.ts";
import { type ReadyEndpoints, withReadyEndpoints } from "./ready-endpoints.ts";
import { operationsIn } from "./remotes.ts";
import type { Churn, ChurnRound } from "./scenario-figures.ts";
import { limitMs } from "./start.ts";

export type ChurnOptions = BenchOptions & { endpoints: number; rounds: number };

/** Of the endpoints at their creation; each round adds 1. */
const FIRST_MAX = 2;
/** Of the minimal remote. */
const LIST = "list-v2";
const NEXT_LIST_MS = 5 * 60_000;

/** Changes the spec of every endpoint at once, while all are Ready, and waits until all are Ready again; several times. */
export function measureChurn(options: ChurnOptions): Promise<Churn> {
  const { endpoints, rounds, say } = options;
  return withReadyEndpoints(options, async ({ machine, ...ready }) => {
    const { cluster, client, signal } = ready;
    const followed = await followObjects<GpuEndpoint>({ client, resource: gpuEndpointResource, signal });
    const measured: ChurnRound[] = [];
    for (let round = 1; round <= rounds; round++) {
      const one = await measureRound({ ...ready, followed }, FIRST_MAX + round);
      say(`${endpoints} changes, round ${round}: ${JSON.stringify(one)}`);
      measured.push(one);
    }
    const updates = await updatesAfterNextList(cluster, Math.ceil(endpoints / PAGE_SIZE), signal);
    return { scenario: "churn", machine, size: { endpoints }, rounds: measured, updates };
  });
}

type Scene = Omit<ReadyEndpoints, "machine"> & { followed: Followed<GpuEndpoint> };

async function measureRound(scene: Scene, max: number): Promise<ChurnRound> {
  const { cluster, client, operator, followed, endpoints, signal } = scene;
  const before = await observeOperator(operator, cluster.remote);
  const began = performance.now();
  const since = () => (performance.now() - began) / 1_000;
  const matches = (endpoint: GpuEndpoint) => hasWorkers(endpoint, max);
  const ready = followed.until("endpoints are Ready", { matches, count: endpoints, limitMs: limitMs(endpoints) });
  const [patchSeconds, seconds] = await Promise.all([
    eachAtOnce(endpoints, (index) => changeWorkers(client, endpointName(index), max)).then(since),
    ready.then(since),
  ]);
  const isIdle = async () => countsOf((await operator.metrics()) ?? "").busy === 0;
  await waitUntil("no endpoint waits for a reconcile", isIdle, { timeoutMs: limitMs(endpoints), signal });
  const after = await observeOperator(operator, cluster.remote);
  return { patchSeconds, seconds, costs: costsBetween(before.costs, after.costs) };
}

/** All updates, once the operator has read the whole list of the service again: until then, it may still send a needless one. */
async function updatesAfterNextList({ remote }: BenchCluster, pages: number, signal: AbortSignal): Promise<number> {
  const read = async () => operationsIn(await remote.stats());
  const before = (await read())[LIST] ?? 0;
  const isRead = async () => ((await read())[LIST] ?? 0) >= before + pages;
  await waitUntil("the operator reads the list again", isRead, { timeoutMs: NEXT_LIST_MS, intervalMs: 500, signal });
  return (await read()).update ?? 0;
}
