import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { stringify } from "yaml";
import { gpuEndpointResource } from "../src/api/v1alpha1/kinds.ts";
import { accountKey } from "../src/controllers/account/registry.ts";
import type { KubeObject } from "../src/kube/types.ts";
import { shardOf } from "../src/operator/shard.ts";
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

export type ShardsOptions = BenchOptions & {
  /** GpuEndpoints, divided evenly among the accounts. */
  endpoints: number;
  accounts: number;
  /** Processes that share the accounts, one for each shard. */
  shards: number;
};

/** What the process of a shard did until every endpoint was Ready. */
type ShardFigures = {
  shard: string;
  accounts: number;
  /** How often the bench started a process again that nobody had stopped, such as one that lost its lease. */
  restarts: number;
  readyEndpoints: number;
  reconciles: number;
  residentMiB: number;
  peakMiB: number;
  cpuSeconds: number;
};

export type ShardsFigures = {
  endpoints: number;
  createSeconds: number;
  /** From the start of the processes until every endpoint was Ready. */
  readySeconds: number;
  /** Accepted creates at the remote service, and those that made an endpoint a second time. */
  creates: number;
  duplicates: number;
  /** When the process of the shard with most accounts was killed (SIGKILL) and started again: its Ready endpoints, and those of all. */
  kill: { shard: number; seconds: number; readyOfShard: number; ready: number } | undefined;
  shards: ShardFigures[];
};

/** The process of a shard. As in a Deployment, another one starts when it ends. */
type Shard = { index: number; operator: MeasuredOperator; restarts: number; life: number };

const INTERVAL_MS = 1_000;
/** Far beyond what a slow machine takes for each object, and the least for a few of them. */
const MS_PER_OBJECT = 240;
const LEAST_MS = 5 * 60_000;

/** Until every endpoint is Ready. With several shards, the process with most accounts is killed half-way and started again. */
export async function measureShards(options: ShardsOptions): Promise<ShardsFigures> {
  const { endpoints, shards, say } = options;
  const cluster = await startBenchCluster(options);
  try {
    const began = performance.now();
    const remotes = await createObjects(cluster, options);
    const createSeconds = (performance.now() - began) / 1_000;
    say(`${endpoints} endpoints of ${remotes.length} accounts after ${createSeconds.toFixed(0)} s`);

    const startedAt = performance.now();
    const processes = await Promise.all(
      Array.from({ length: shards }, (_, index) => startShard(cluster, index, options)),
    );
    const victim = largestShard(options);
    let kill: ShardsFigures["kill"];
    for (;;) {
      await sleep(INTERVAL_MS, undefined, { signal: options.signal });
      cluster.guarded.failed.throwIfAborted();
      const counts = await readyOf(processes);
      const ready = counts.reduce((sum, count) => sum + count, 0);
      if (ready === endpoints) break;
      if (kill === undefined && shards > 1 && ready >= endpoints / 2) {
        const seconds = (performance.now() - startedAt) / 1_000;
        kill = { shard: victim, seconds, readyOfShard: counts[victim] ?? 0, ready };
        say(`killing a process: ${JSON.stringify(kill)}`);
        await processes[victim]?.operator.kill();
        if (processes[victim] !== undefined) await startNext(cluster, processes[victim], options);
      }
      if (performance.now() - startedAt > Math.max(LEAST_MS, endpoints * MS_PER_OBJECT)) {
        throw new Error(`${ready} of ${endpoints} endpoints are Ready`);
      }
    }
    const readySeconds = (performance.now() - startedAt) / 1_000;
    const figures = await Promise.all(processes.map((one) => figuresOf(one, options)));
    const stats = await Promise.all(remotes.map((remote) => remote.stats()));
    const sum = (name: string) => stats.reduce((total, counts) => total + (counts[name] ?? 0), 0);
    const counted = { creates: sum("create"), duplicates: sum("duplicates") };
    await Promise.all(processes.map(({ operator }) => operator.stop()));
    return { endpoints, createSeconds, readySeconds, ...counted, kill, shards: figures };
  } finally {
    await cluster.stop();
  }
}

const accountName = (index: number) => `account-${index}`;

/** Each account has a remote service of its own, as accounts of different customers have. */
async function createObjects(cluster: BenchCluster, { endpoints, accounts }: ShardsOptions): Promise<MinimalRemote[]> {
  const { guarded, kubectl } = cluster;
  const remotes: MinimalRemote[] = [];
  for (let index = 0; index < accounts; index++) {
    const remote = await startMinimalRemote(guarded, [], `remote-${index}`);
    remotes.push(remote);
    const file = join(guarded.dir, `${accountName(index)}.yaml`);
    await writeFile(
      file,
      stringify(accountAt({ baseURL: remote.baseURL, rateLimit: UNREACHED_RATE }, accountName(index))),
    );
    await kubectl("apply", `--filename=${file}`);
  }
  const client = await clientOf(cluster);
  try {
    await eachAtOnce(endpoints, async (index) => {
      const { spec, ...object } = endpoint(endpointName(index));
      const accountRef = { kind: "Account", name: accountName(index % accounts) };
      // The remote has no workers.
      const body = { ...object, spec: { ...spec, accountRef, workers: { ...spec.workers, min: 0 } } };
      await client.create<KubeObject>(gpuEndpointResource, { namespace: NAMESPACE }, body);
    });
  } finally {
    await client.close();
  }
  return remotes;
}

async function startShard(cluster: BenchCluster, index: number, options: ShardsOptions): Promise<Shard> {
  const shard: Shard = {
    index,
    operator: await startProcess(cluster, options, { index, life: 1 }),
    restarts: 0,
    life: 1,
  };
  restartAtEnd(cluster, shard, options);
  return shard;
}

/** Starts the next process of a shard whose process has ended. */
async function startNext(cluster: BenchCluster, shard: Shard, options: ShardsOptions): Promise<void> {
  shard.life++;
  shard.operator = await startProcess(cluster, options, shard);
  restartAtEnd(cluster, shard, options);
}

function restartAtEnd(cluster: BenchCluster, shard: Shard, options: ShardsOptions): void {
  shard.operator.onEnd((lastLines) => {
    options.say(`the process of shard ${shard.index} ended by itself:\n${lastLines}`);
    shard.restarts++;
    void startNext(cluster, shard, options);
  });
}

function startProcess(
  cluster: BenchCluster,
  { shards }: ShardsOptions,
  { index, life }: { index: number; life: number },
): Promise<MeasuredOperator> {
  const flags = ["--leader-elect", `--shard=${index}/${shards}`];
  return startOperator(cluster, `operator-${index}-${life}`, flags);
}

/** The Ready endpoints that each process shows. */
async function readyOf(processes: readonly Shard[]): Promise<number[]> {
  const texts = await Promise.all(processes.map(({ operator }) => operator.metrics()));
  return texts.map((text) => countsOf(text ?? "").readyEndpoints);
}

function largestShard({ shards, accounts }: ShardsOptions): number {
  const sizes = Array.from({ length: shards }, (_, index) => accountsOf(index, { shards, accounts }).length);
  return sizes.indexOf(Math.max(...sizes));
}

function accountsOf(index: number, { shards, accounts }: Pick<ShardsOptions, "shards" | "accounts">): string[] {
  const names = Array.from({ length: accounts }, (_, account) => accountName(account));
  return names.filter((name) => shardOf(accountKey("Account", name, NAMESPACE), shards) === index);
}

async function figuresOf({ index, operator, restarts }: Shard, options: ShardsOptions): Promise<ShardFigures> {
  const [text = "", usage] = await Promise.all([operator.metrics(), operator.usage()]);
  const { readyEndpoints, reconciles } = countsOf(text);
  const accounts = accountsOf(index, options).length;
  return { shard: `${index}/${options.shards}`, accounts, restarts, readyEndpoints, reconciles, ...usage };
}
