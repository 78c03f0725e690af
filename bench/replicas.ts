import { setTimeout as sleep } from "node:timers/promises";
import type { Account } from "../src/api/v1alpha1/account.ts";
import { accountResource, gpuEndpointResource } from "../src/api/v1alpha1/kinds.ts";
import type { KubeClient } from "../src/kube/client.ts";
import type { KubeObject } from "../src/kube/types.ts";
import { waitUntil } from "../tools/cluster/wait-until.ts";
import {
  accountAt,
  type BenchCluster,
  type BenchOptions,
  clientOf,
  NAMESPACE,
  startBenchCluster,
  UNREACHED_RATE,
} from "./cluster.ts";
import { endpoint } from "./manifests.ts";
import { eachAtOnce, endpointName } from "./objects.ts";
import { countsOf, type MeasuredOperator, startOperator } from "./operator-process.ts";
import { type MinimalRemote, startMinimalRemote } from "./remotes.ts";

export type ReplicasOptions = BenchOptions & {
  /** GpuEndpoints, divided evenly among the accounts. */
  endpoints: number;
  accounts: number;
  /** Processes that share the accounts. */
  replicas: number;
  /** Measured at rest, once every endpoint is Ready. */
  restSeconds: number;
};

/** What a process costs. `ready`: the endpoints that it serves. CPU at rest is a share of a core in percent. */
export type ReplicaFigures = {
  ready: number;
  reconciles: number;
  startCpuSeconds: number;
  restCpuPercent: number;
  residentMiB: number;
  peakMiB: number;
  heapMiB: number;
};

export type ReplicasFigures = {
  endpoints: number;
  accounts: number;
  createSeconds: number;
  /** From the first endpoint until every one was Ready. */
  readySeconds: number;
  /** Accepted creates at the remote services, and those that made an endpoint a second time. */
  creates: number;
  duplicates: number;
  replicas: ReplicaFigures[];
  /** A process that was started when the others served every account. */
  idle: ReplicaFigures;
};

const INTERVAL_MS = 1_000;
/** Far beyond what a slow machine takes for each object, and the least for a few of them. */
const MS_PER_OBJECT = 240;
const LEAST_MS = 5 * 60_000;
/** Then the processes have seen each other's leases. */
const ACQUAINTED_MS = 5_000;
/** After this time at rest, garbage of the start has been collected. */
const CALM_MS = 30_000;

/** Processes that divide new accounts, until every endpoint is Ready, then at rest, and then beside one more process. */
export async function measureReplicas(options: ReplicasOptions): Promise<ReplicasFigures> {
  const { endpoints, accounts, replicas, say, signal } = options;
  const cluster = await startBenchCluster(options);
  const client = await clientOf(cluster);
  try {
    const names = Array.from({ length: replicas }, (_, index) => `operator-${index}`);
    const operators = await Promise.all(names.map((name) => startStarted(cluster, name, signal)));
    await sleep(ACQUAINTED_MS, undefined, { signal });
    const remotes = await createAccounts({ cluster, client }, options);
    const began = performance.now();
    const since = () => (performance.now() - began) / 1_000;
    await createEndpoints(client, options);
    const createSeconds = since();
    say(`${endpoints} endpoints of ${accounts} accounts after ${createSeconds.toFixed(0)} s`);
    await untilReady(cluster, operators, options);
    const readySeconds = since();
    say(`every endpoint is Ready after ${readySeconds.toFixed(0)} s`);
    const startCpu = await cpuOf(operators);
    await sleep(CALM_MS, undefined, { signal });
    const extra = await startStarted(cluster, "idle", signal);
    const idleCpu = async () => (await extra.usage()).cpuSeconds;
    await sleep(CALM_MS, undefined, { signal });
    const idleStart = await idleCpu();
    const all = [...operators, extra];
    const rested = await restOf(all, options);
    const figures: ReplicaFigures[] = [];
    for (const [index, operator] of all.entries()) {
      const start = startCpu[index] ?? idleStart;
      figures.push({ ...(await figuresOf(operator)), startCpuSeconds: start, restCpuPercent: rested[index] ?? 0 });
    }
    const idle = figures.pop();
    if (idle === undefined) throw new Error("no process was measured");
    const stats = await Promise.all(remotes.map((remote) => remote.stats()));
    const sum = (name: string) => stats.reduce((total, counts) => total + (counts[name] ?? 0), 0);
    await Promise.all(all.map((operator) => operator.stop()));
    const counted = { creates: sum("create"), duplicates: sum("duplicates") };
    return { endpoints, accounts, createSeconds, readySeconds, ...counted, replicas: figures, idle };
  } finally {
    await client.close();
    await cluster.stop();
  }
}

/** An operator that has its lists, and may take accounts. */
async function startStarted(cluster: BenchCluster, name: string, signal: AbortSignal): Promise<MeasuredOperator> {
  const operator = await startOperator(cluster, name);
  const isStarted = async () => (await cluster.guarded.output(name)).includes("controllers started");
  await waitUntil(`${name} has its lists`, isStarted, { timeoutMs: LEAST_MS, signal });
  return operator;
}

const accountName = (index: number) => `account-${index}`;

type Target = { cluster: BenchCluster; client: KubeClient };

/** Each account has a remote service of its own, as accounts of different customers have. Returns when each has a server. */
async function createAccounts(
  { cluster, client }: Target,
  { accounts, signal }: ReplicasOptions,
): Promise<MinimalRemote[]> {
  const names = Array.from({ length: accounts }, (_, index) => accountName(index));
  const remotes: MinimalRemote[] = [];
  for (const [index] of names.entries()) {
    remotes.push(await startMinimalRemote(cluster.guarded, [], `remote-${index}`));
  }
  for (const [index, { baseURL }] of remotes.entries()) {
    const account = accountAt({ baseURL, rateLimit: UNREACHED_RATE }, accountName(index));
    await client.create<KubeObject>(accountResource, { namespace: NAMESPACE }, account);
  }
  const areServed = async () => {
    const { items } = await client.list<Account>(accountResource, { namespace: NAMESPACE });
    return items.every(({ status }) => status?.server !== undefined);
  };
  await waitUntil("every account is served", areServed, { timeoutMs: LEAST_MS, signal });
  return remotes;
}

async function createEndpoints(client: KubeClient, { endpoints, accounts }: ReplicasOptions): Promise<void> {
  await eachAtOnce(endpoints, async (index) => {
    const { spec, ...object } = endpoint(endpointName(index));
    const accountRef = { kind: "Account", name: accountName(index % accounts) };
    // The remote has no workers.
    const body = { ...object, spec: { ...spec, accountRef, workers: { ...spec.workers, min: 0 } } };
    await client.create<KubeObject>(gpuEndpointResource, { namespace: NAMESPACE }, body);
  });
}

async function untilReady(
  { guarded }: BenchCluster,
  operators: readonly MeasuredOperator[],
  { endpoints, signal }: ReplicasOptions,
): Promise<void> {
  const end = performance.now() + Math.max(LEAST_MS, endpoints * MS_PER_OBJECT);
  for (;;) {
    await sleep(INTERVAL_MS, undefined, { signal });
    guarded.failed.throwIfAborted();
    const texts = await Promise.all(operators.map((operator) => operator.metrics()));
    const ready = texts.reduce((sum, text = "") => sum + countsOf(text).readyEndpoints, 0);
    if (ready === endpoints) return;
    if (performance.now() > end) throw new Error(`${ready} of ${endpoints} endpoints are Ready`);
  }
}

function cpuOf(operators: readonly MeasuredOperator[]): Promise<number[]> {
  return Promise.all(operators.map(async (operator) => (await operator.usage()).cpuSeconds));
}

/** The share of a core that each process uses at rest, in percent. Nobody reads its metrics meanwhile. */
async function restOf(
  operators: readonly MeasuredOperator[],
  { restSeconds, signal }: ReplicasOptions,
): Promise<number[]> {
  const before = await cpuOf(operators);
  await sleep(restSeconds * 1_000, undefined, { signal });
  const after = await cpuOf(operators);
  return after.map((seconds, index) => ((seconds - (before[index] ?? 0)) / restSeconds) * 100);
}

async function figuresOf(
  operator: MeasuredOperator,
): Promise<Omit<ReplicaFigures, "startCpuSeconds" | "restCpuPercent">> {
  const { residentMiB, peakMiB } = await operator.usage();
  const { readyEndpoints, reconciles } = countsOf((await operator.metrics()) ?? "");
  return { ready: readyEndpoints, reconciles, residentMiB, peakMiB, heapMiB: await operator.heapAfterCollectionMiB() };
}
