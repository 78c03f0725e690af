import { expect, inject, it, onTestFailed } from "vitest";
import { metric } from "../../bench/metric.ts";
import { accountKey } from "../../src/controllers/account/registry.ts";
import { shardOf } from "../../src/operator/shard.ts";
import { startProxy } from "../../tools/chaos/proxy.ts";
import { targetOf } from "../../tools/cluster/credentials.ts";
import { manifest } from "../support/manifests.ts";
import { type ObservedService, observeService } from "../support/observed-service.ts";
import { expectRate, reignsOf } from "../support/reigns.ts";
import {
  condition,
  createWorld,
  eventually,
  type Operator,
  plainKubeconfig,
  type World,
  waitForCondition,
} from "../support/world.ts";

const SHARDS = 3;
const ACCOUNTS_PER_SHARD = 2;
/** So low that the objects of an account use it up: a process that does not keep to it fails the test. */
const RATE = 5;
/** A caller whose process ID could not be read has ended within this time, also on a busy machine. */
const ENDED_MS = 2_000;

type TestAccount = { name: string; shard: number; service: ObservedService };

/** A shard's process. `statuses`: the objects whose statuses it wrote (`PLURAL/NAME`), and when. `endedAt`: ms since the epoch. */
type Process = {
  operator: Operator;
  shard: number;
  statuses: Map<string, number[]>;
  endedAt: number;
  /** It was stopped (SIGSTOP), and another process took its place meanwhile. */
  slept: boolean;
};

/** Accounts for each shard, and nothing else. */
async function shardedWorld(prefix: string, perShard = ACCOUNTS_PER_SHARD) {
  const world = await createWorld(prefix, { account: null, simulator: { timeScale: 0.5 } });
  const processes: Process[] = [];
  const accounts: TestAccount[] = [];
  for (let index = 0; accounts.length < SHARDS * perShard; index++) {
    const name = `account-${index}`;
    const shard = shardOf(accountKey("Account", name, world.namespace), SHARDS);
    if (accounts.filter((one) => one.shard === shard).length === perShard) continue;
    const service = await observeService(world.simulator.url, () => processes.map(({ operator }) => operator.pid));
    accounts.push({ name, shard, service });
    const apiKeySecretRef = { name: "key", key: "apiKey" };
    const rateLimit = { requestsPerSecond: RATE, burst: RATE };
    await world.apply({
      kind: "Account",
      metadata: { name },
      spec: { baseURL: service.url, apiKeySecretRef, rateLimit },
    });
  }

  /** A process of a shard. What it writes to statuses is recorded. */
  async function start(shard: number, count = SHARDS): Promise<Process> {
    const statuses: Process["statuses"] = new Map();
    const proxy = await startProxy(
      await targetOf(inject("kubeconfig")),
      ({ method, path }) => {
        const [, object] = /\/([a-z]+\/[a-z0-9-]+)\/status/.exec(path) ?? [];
        if (method === "PATCH" && object !== undefined) {
          statuses.set(object, [...(statuses.get(object) ?? []), Date.now()]);
        }
        return "pass";
      },
      () => {},
    );
    const operator = await world.startOperator({
      kubeconfig: await plainKubeconfig(proxy.url),
      args: ["--leader-elect", `--shard=${shard}/${count}`],
    });
    const process = { operator, shard, statuses, endedAt: Number.POSITIVE_INFINITY, slept: false };
    void operator.exited.then(() => {
      process.endedAt = Date.now();
      void proxy.close();
    });
    processes.push(process);
    return process;
  }

  return { world, accounts, processes, start };
}

const leads = ({ operator }: Process) => operator.log().includes('"msg":"controllers started"');
const untilLeading = (process: Process) => eventually("the shard has a leader", async () => leads(process));

/** For each account, `count` endpoints and jobs whose names have the account and the round. */
async function applyObjects(world: World, accounts: readonly TestAccount[], round: string, count: number) {
  const names = accounts.flatMap(({ name }) =>
    Array.from({ length: count }, (_, i) => ({ name, id: `${name}-${round}-${i}` })),
  );
  await Promise.all(
    names.flatMap(({ name, id }) => {
      const accountRef = { kind: "Account", name };
      return [
        world.apply(manifest("endpoint", { accountRef }, id)),
        world.apply(manifest("hd", { accountRef, text: `text of ${id}.` }, id)),
      ];
    }),
  );
  return names.map(({ id }) => id);
}

/** Until each endpoint is Ready, and each job is complete or waits for a user because its outcome is unknown. Returns the halted jobs. */
async function settled(world: World, names: readonly string[]): Promise<string[]> {
  for (const name of names) await waitForCondition(world, "GpuEndpoint", name, "Ready");
  const isEnded = (phase: unknown) => phase === "Succeeded" || phase === "Halted";
  onTestFailed(async () => {
    const open = (await world.list("SpeechJob")).filter(({ status }) => !isEnded(status?.["phase"]));
    console.log(JSON.stringify(open.map(({ metadata, status }) => ({ name: metadata.name, status }))));
  });
  await eventually("each job has an outcome", async () =>
    (await world.list("SpeechJob")).every(({ status }) => isEnded(status?.["phase"])),
  );
  return (await world.list("SpeechJob")).flatMap(({ metadata, status }) =>
    status?.["phase"] === "Halted" ? [metadata.name] : [],
  );
}

/** No endpoint and no job took effect twice. */
async function expectOnce(world: World, names: readonly string[]): Promise<void> {
  const { endpoints } = await world.state();
  expect(endpoints).toHaveLength(names.length);
  const submits = (await world.audit("submitSpeech")).map(({ body }) => String(body?.["text"]));
  expect(submits.length).toBe(new Set(submits).size);
}

/**
 * The processes that called an account, one after the other: none calls again after another one. A process that wakes up can read once more
 * before it sees that its lease is lost; a read changes nothing.
 */
function callersOf({ name, service }: TestAccount, processes: readonly Process[]): Process[] {
  const turns: Process[] = [];
  for (const { pid, at, method, path } of service.calls) {
    const caller = processes.find(({ operator }) => operator.pid === pid) ?? turns.at(-1);
    if (caller === undefined) throw new Error(`nobody knows who called ${name}`);
    // Without a process ID, the caller ended right after its call.
    if (pid === undefined) expect(caller.endedAt, `${name}: end of the caller`).toBeLessThan(at + ENDED_MS);
    if (caller === turns.at(-1)) continue;
    if (!turns.includes(caller)) turns.push(caller);
    else
      expect([caller.slept, method], `${name}: a process calls ${path} again after another one`).toEqual([true, "GET"]);
  }
  return turns;
}

/** Each status was written by processes of one shard, one after the other. */
function expectOneWriterAtATime(processes: readonly Process[]): void {
  const objects = new Set(processes.flatMap(({ statuses }) => [...statuses.keys()]));
  for (const object of objects) {
    const writers = processes.filter(({ statuses }) => statuses.has(object));
    expect(new Set(writers.map(({ shard }) => shard)).size, `shards that write ${object}`).toBe(1);
    const spans = writers.map(({ statuses }) => statuses.get(object) ?? []).sort(([a = 0], [b = 0]) => a - b);
    spans.slice(1).forEach((later, index) => {
      expect(later[0], object).toBeGreaterThanOrEqual(spans[index]?.at(-1) ?? 0);
    });
  }
}

/** Each process that called an account kept to its rate. */
function expectRateOf({ service }: TestAccount, callers: readonly Process[]): void {
  const operators = callers.map(({ operator }) => operator);
  for (const reign of reignsOf(service.calls, operators)) expectRate(reign, RATE);
}

it("three shards: each account has one process; one is killed, its standby goes on, and nothing is sent twice", {
  timeout: 300_000,
}, async () => {
  const { world, accounts, processes, start } = await shardedWorld("shards");
  const [first, second, third] = await Promise.all([start(0), start(1), start(2)]);
  for (const process of processes) await untilLeading(process);
  if (second === undefined) throw new Error("three processes were started");
  const standby = await start(1);
  await eventually("it stands by", async () => standby.operator.log().includes("waiting for the lease"));
  // Requests are under way when the process is killed.
  await world.control("POST", "/__faults", [
    { operation: "submitSpeech", kind: "latency", latencyMs: 1_000, after: true, probability: 0.5 },
    { operation: "createEndpoint", kind: "latency", latencyMs: 1_000, after: true, probability: 0.5 },
  ]);
  const names = await applyObjects(world, accounts, "a", 6);
  await eventually("jobs are sent", async () => (await world.audit("submitSpeech")).length >= SHARDS);
  await second.operator.kill();
  names.push(...(await applyObjects(world, accounts, "b", 4)));

  const halted = await settled(world, names);
  expect(leads(standby)).toBe(true);
  const ownAccounts = accounts.filter(({ shard }) => shard === 1).map(({ name }) => name);
  expect(halted.filter((job) => !ownAccounts.some((name) => job.startsWith(`${name}-a`)))).toEqual([]);
  await expectOnce(world, names);
  for (const account of accounts) {
    const callers = callersOf(account, processes);
    expect(new Set(callers.map(({ shard }) => shard)), account.name).toEqual(new Set([account.shard]));
    expectRateOf(account, callers);
  }
  expectOneWriterAtATime(processes);

  // Each object is in the metrics of one process, which names its shard.
  const metrics = await Promise.all([first, standby, third].map(readyEndpoints));
  expect(metrics.reduce((sum, count) => sum + count, 0)).toBe(names.length);
  expect(metrics.every((count) => count === names.length / SHARDS)).toBe(true);
});

async function readyEndpoints(process: Process | undefined): Promise<number> {
  const line = process?.operator
    .log()
    .split("\n")
    .find((one) => one.includes('"msg":"operator starts"'));
  const { metrics } = JSON.parse(line ?? "{}") as { metrics: number };
  const text = await (await fetch(`http://127.0.0.1:${metrics}/metrics`)).text();
  return metric(text, "mooring_endpoints", `state="Ready",shard="${process?.shard}"`);
}

it("another number of shards waits for the old processes, takes over what they left, and nothing is sent twice", {
  timeout: 300_000,
}, async () => {
  const { world, accounts, processes, start } = await shardedWorld("reshard");
  const old = await Promise.all([start(0), start(1), start(2)]);
  for (const process of old) await untilLeading(process);
  await world.control("POST", "/__faults", [
    { operation: "submitSpeech", kind: "latency", latencyMs: 2_000, after: true, probability: 0.5 },
    { operation: "createEndpoint", kind: "latency", latencyMs: 2_000, after: true, probability: 0.5 },
  ]);
  const names = await applyObjects(world, accounts, "three", 4);
  await eventually("jobs are sent", async () => (await world.audit("submitSpeech")).length >= SHARDS);

  // One old process is killed with requests under way, one sleeps, and one ends in order.
  const [stopping, killed, asleep] = old;
  await killed?.operator.kill();
  if (asleep === undefined) throw new Error("three processes were started");
  asleep.slept = true;
  process.kill(asleep.operator.pid, "SIGSTOP");
  const next = await Promise.all([start(0, 2), start(1, 2)]);
  await eventually("the new number waits", async () =>
    next.some(({ operator }) => operator.log().includes("the accounts are not divided twice")),
  );
  expect(next.some(leads)).toBe(false);
  await stopping?.operator.stop();
  for (const process of next) await untilLeading(process);
  process.kill(asleep.operator.pid, "SIGCONT");
  expect(await asleep.operator.exited).toBe(1);
  names.push(...(await applyObjects(world, accounts, "two", 2)));
  const halted = await settled(world, names);
  expect(halted.filter((job) => !job.includes("-three-"))).toEqual([]);
  await expectOnce(world, names);

  // Back to one process.
  for (const { operator } of next) await operator.stop();
  const single = await start(0, 1);
  await untilLeading(single);
  names.push(...(await applyObjects(world, accounts, "one", 1)));
  expect(await settled(world, names)).toEqual(halted);
  await expectOnce(world, names);

  // Each account had one process of each number, one after the other, and no installation contests another one.
  for (const account of accounts) {
    const callers = callersOf(account, processes);
    expectRateOf(account, callers);
    const shards = callers.map((caller) => processes.indexOf(caller));
    expect(shards, account.name).toEqual([...shards].sort((a, b) => a - b));
    expect(condition(await world.get("Account", account.name), "Contested")).toBeUndefined();
  }
});
