import { setTimeout as sleep } from "node:timers/promises";
import type { Account } from "../src/api/v1alpha1/account.ts";
import type { GpuEndpoint } from "../src/api/v1alpha1/gpu-endpoint.ts";
import { accountResource, gpuEndpointResource, speechJobResource } from "../src/api/v1alpha1/kinds.ts";
import type { SpeechJob } from "../src/api/v1alpha1/speech-job.ts";
import type { KubeClient } from "../src/kube/client.ts";
import type { Guarded } from "../tools/cluster/guarded.ts";
import { waitUntil } from "../tools/cluster/wait-until.ts";
import { type BenchCluster, type BenchOptions, NAMESPACE, startCluster } from "./cluster.ts";
import { costsBetween, observeOperator } from "./costs.ts";
import { hasWorkers } from "./endpoint-state.ts";
import { followObjects } from "./follow.ts";
import { changeWorkers, createTaskJobs, endpointName } from "./objects.ts";
import { countsOf, type MeasuredOperator, startOperator } from "./operator-process.ts";
import { type ReadyEndpoints, withReadyEndpoints } from "./ready-endpoints.ts";
import { callsIn, operationsIn, startMinimalRemote } from "./remotes.ts";
import type { Takeover } from "./scenario-figures.ts";
import { isSteady, limitMs, untilFirstCall } from "./start.ts";

export type TakeoverOptions = BenchOptions & { endpoints: number; jobs: number };

const ACCOUNT = { namespace: NAMESPACE, name: "default" };
const POLL_MS = 50;
/** Of a task, on average: they take from half of this time to one and a half. */
const TASK_SECONDS = 60;
/** The last calls of the killed process have arrived by then, and its lease has not ended yet. */
const QUIET_MS = 500;
const CHANGED_MAX = 7;

/** Kills the process that serves the account, while endpoints exist and jobs run, and changes an endpoint in the gap. */
export function measureTakeover(options: TakeoverOptions): Promise<Takeover> {
  const { endpoints, jobs, say } = options;
  const startRemote = (guarded: Guarded) => startMinimalRemote(guarded, [`-task=${TASK_SECONDS}s`]);
  const start = (common: BenchOptions) => startCluster({ ...common, startRemote });
  const measure = async ({ cluster, client, machine, operator: first, signal }: ReadyEndpoints): Promise<Takeover> => {
    const second = await startOperator(cluster, "second");
    const isReady = async () => (await cluster.guarded.output("second")).includes("controllers started");
    await waitUntil("the second process has its lists", isReady, { timeoutMs: limitMs(endpoints), signal });
    const followed = await followObjects<SpeechJob>({ client, resource: speechJobResource, signal });
    await createTaskJobs(client, jobs);
    const hasTask = ({ status }: SpeechJob) => status?.taskID !== undefined;
    await followed.until("jobs have a task", { matches: hasTask, count: jobs, limitMs: limitMs(jobs) });
    const isSucceeded = ({ status }: SpeechJob) => status?.phase === "Succeeded";
    const runningJobs = jobs - followed.list().filter(isSucceeded).length;
    say(`${endpoints} endpoints are Ready, ${runningJobs} of ${jobs} jobs run`);

    const scene = { cluster, client, second, endpoints, jobs, signal };
    const figures = await measureGap(scene, first);
    say(`takeover: ${JSON.stringify(figures)}`);
    await followed.until("jobs have succeeded", { matches: isSucceeded, count: jobs, limitMs: limitMs(jobs) });
    const { create = 0, submit = 0, update = 0 } = operationsIn(await cluster.remote.stats());
    const duplicates = { creates: create - endpoints, submits: submit - jobs, updates: update - 1 };
    return { scenario: "takeover", machine, size: { endpoints, jobs }, runningJobs, ...figures, duplicates };
  };
  return withReadyEndpoints(options, measure, start);
}

type Scene = {
  cluster: BenchCluster;
  client: KubeClient;
  second: MeasuredOperator;
  endpoints: number;
  jobs: number;
  signal: AbortSignal;
};
type Gap = Pick<Takeover, "serverSeconds" | "firstCallSeconds" | "changeSeconds" | "steadySeconds" | "costs">;

async function measureGap(scene: Scene, first: MeasuredOperator): Promise<Gap> {
  const { cluster, client, second, endpoints, signal } = scene;
  const serverOf = async () => (await client.get<Account>(accountResource, ACCOUNT)).status?.server?.lease;
  const server = await serverOf();
  const followed = await followObjects<GpuEndpoint>({ client, resource: gpuEndpointResource, signal });
  const killedAt = performance.now();
  const since = () => (performance.now() - killedAt) / 1_000;
  await first.kill();
  await changeWorkers(client, endpointName(0), CHANGED_MAX);
  await sleep(QUIET_MS, undefined, { signal });
  const before = await observeOperator(second, cluster.remote);

  const wait = { timeoutMs: limitMs(endpoints), intervalMs: POLL_MS, signal };
  const isChanged = (endpoint: GpuEndpoint) => hasWorkers(endpoint, CHANGED_MAX);
  const isTaken = async () => (await serverOf()) !== server;
  const hasSettled = async () => isSteady(countsOf((await second.metrics()) ?? ""), scene);
  const [serverSeconds, firstCallSeconds, changeSeconds, steadySeconds] = await Promise.all([
    waitUntil("the second process serves the account", isTaken, wait).then(since),
    untilFirstCall(cluster, callsIn(before.costs.remoteCalls), signal).then(since),
    followed.until("changed endpoint is Ready", { matches: isChanged, count: 1, limitMs: wait.timeoutMs }).then(since),
    waitUntil("every object is reconciled", hasSettled, { ...wait, intervalMs: 250 }).then(since),
  ]);
  const after = await observeOperator(second, cluster.remote);
  const costs = costsBetween(before.costs, after.costs);
  return { serverSeconds, firstCallSeconds, changeSeconds, steadySeconds, costs };
}
