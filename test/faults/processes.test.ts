import { setTimeout as sleep } from "node:timers/promises";
import { expect, inject, it, onTestFailed } from "vitest";
import { metric } from "../../bench/metric.ts";
import { accountKey } from "../../src/controllers/account/registry.ts";
import { LEASE_MS } from "../../src/runtime/lease.ts";
import { startProxy } from "../../tools/chaos/proxy.ts";
import { targetOf } from "../../tools/cluster/credentials.ts";
import { manifest } from "../support/manifests.ts";
import { type ObservedService, observeService } from "../support/observed-service.ts";
import { expectRate, leaseOf, servingOf, turnsOf, untilStarted } from "../support/serving.ts";
import {
  condition,
  createWorld,
  eventually,
  type Operator,
  plainKubeconfig,
  type World,
  waitForCondition,
} from "../support/world.ts";

const ACCOUNTS = 6;
/** So low that the objects of an account use it up: a process that does not keep to it fails the test. */
const RATE = 5;
/** A caller whose process ID could not be read has ended before another process can end its Lease and call. */
const ENDED_MS = LEASE_MS;
/** The processes have seen each other's leases by then. */
const ACQUAINTED_MS = 5_000;

type TestAccount = { name: string; key: string; service: ObservedService };

/** A process. `statuses`: the objects whose statuses it wrote (`PLURAL/NAME`), and when. `endedAt`: ms since the epoch. */
type Process = {
  operator: Operator;
  statuses: Map<string, number[]>;
  endedAt: number;
  /** It was stopped (SIGSTOP), and another process took its place meanwhile. */
  slept: boolean;
};

/** Processes that have their lists and know each other, and then accounts, which they divide. */
async function dividedWorld(prefix: string, count: number) {
  const world = await createWorld(prefix, { account: null, simulator: { timeScale: 0.5 } });
  const processes: Process[] = [];
  const accounts: TestAccount[] = [];

  /** What the process writes to statuses of objects that use accounts is recorded. */
  async function start(): Promise<Process> {
    const statuses: Process["statuses"] = new Map();
    const proxy = await startProxy(
      await targetOf(inject("kubeconfig")),
      ({ method, path }) => {
        const [, object] = /\/([a-z]+\/[a-z0-9-]+)\/status/.exec(path) ?? [];
        if (method !== "GET" && object !== undefined && !object.startsWith("accounts/")) {
          statuses.set(object, [...(statuses.get(object) ?? []), Date.now()]);
        }
        return "pass";
      },
      () => {},
    );
    const operator = await world.startOperator({
      kubeconfig: await plainKubeconfig(proxy.url),
    });
    const process = { operator, statuses, endedAt: Number.POSITIVE_INFINITY, slept: false };
    void operator.exited.then(() => {
      process.endedAt = Date.now();
      void proxy.close();
    });
    processes.push(process);
    return process;
  }

  await Promise.all(Array.from({ length: count }, start));
  for (const { operator } of processes) await untilStarted(operator);
  await sleep(ACQUAINTED_MS);
  for (let index = 0; index < ACCOUNTS; index++) {
    const name = `account-${index}`;
    const service = await observeService(world.simulator.url, () => processes.map(({ operator }) => operator.pid));
    accounts.push({ name, key: accountKey("Account", name, world.namespace), service });
    const apiKeySecretRef = { name: "key", key: "apiKey" };
    const rateLimit = { requestsPerSecond: RATE, burst: RATE };
    await world.apply({
      kind: "Account",
      metadata: { name },
      spec: { baseURL: service.url, apiKeySecretRef, rateLimit },
    });
  }
  await eventually("every account is served", async () => (await serversOf(world)).every((name) => name !== undefined));
  return { world, accounts, processes, start };
}

/** The process that serves each account. */
async function serversOf(world: World): Promise<(string | undefined)[]> {
  const servers = (await world.list("Account")).map(
    ({ status }) => status?.["server"] as { lease: string; released?: string } | undefined,
  );
  return servers.map((server) => (server?.released === undefined ? server?.lease : undefined));
}

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

/** Each status was written by one process after the other. */
function expectOneWriterAtATime(processes: readonly Process[]): void {
  const objects = new Set(processes.flatMap(({ statuses }) => [...statuses.keys()]));
  for (const object of objects) {
    const spans = processes
      .flatMap(({ statuses }) => [statuses.get(object) ?? []])
      .filter((span) => span.length > 0)
      .sort(([a = 0], [b = 0]) => a - b);
    spans.slice(1).forEach((later, index) => {
      expect(later[0], object).toBeGreaterThanOrEqual(spans[index]?.at(-1) ?? 0);
    });
  }
}

/** Each process that called an account kept to its rate. */
function expectRateOf({ key, service }: TestAccount, callers: readonly Process[]): void {
  const operators = callers.map(({ operator }) => operator);
  for (const turn of turnsOf(service.calls, operators)) expectRate(turn, key, RATE);
}

/** How many endpoints the metrics of a process show. */
async function readyEndpoints({ operator }: Process): Promise<number> {
  const line = operator
    .log()
    .split("\n")
    .find((one) => one.includes('"msg":"operator starts"'));
  const { metrics } = JSON.parse(line ?? "{}") as { metrics: number };
  const text = await (await fetch(`http://127.0.0.1:${metrics}/metrics`)).text();
  return metric(text, "mooring_endpoints", 'state="Ready"');
}

/** A part of the requests is under way for some time, so that a process that ends leaves some. */
const slow = (latencyMs: number) =>
  ["submitSpeech", "createEndpoint"].map((operation) => ({
    operation,
    kind: "latency",
    latencyMs,
    after: true,
    probability: 0.5,
  }));

it("three processes divide accounts; one is killed, the others go on, and nothing is sent twice", {
  timeout: 300_000,
}, async () => {
  const { world, accounts, processes } = await dividedWorld("divided", 3);
  const victim = processes.find(({ operator }) => accounts.some(({ key }) => servingOf(operator, key) !== undefined));
  if (victim === undefined) throw new Error("no process serves an account");
  expect(new Set(await serversOf(world)).size).toBeGreaterThan(1);
  const isOfVictim = ({ key }: TestAccount) => servingOf(victim.operator, key) !== undefined;
  await world.control("POST", "/__faults", slow(1_000));
  const names = await applyObjects(world, accounts, "a", 6);
  await eventually("each account has jobs that are sent", async () => {
    const texts = (await world.audit("submitSpeech")).map(({ body }) => String(body?.["text"]));
    return accounts.every(({ name }) => texts.some((text) => text.startsWith(`text of ${name}-a`)));
  });
  await victim.operator.kill();
  names.push(...(await applyObjects(world, accounts, "b", 4)));

  const halted = await settled(world, names);
  const left = accounts.filter(isOfVictim).map(({ name }) => name);
  expect(halted.filter((job) => !left.some((name) => job.startsWith(`${name}-a`)))).toEqual([]);
  await expectOnce(world, names);
  for (const account of accounts) {
    const callers = callersOf(account, processes);
    expect(callers.length, account.name).toBe(isOfVictim(account) ? 2 : 1);
    expectRateOf(account, callers);
  }
  expectOneWriterAtATime(processes);

  // Each object is in the metrics of one process.
  const metrics = await Promise.all(processes.filter((one) => one !== victim).map(readyEndpoints));
  expect(metrics.reduce((sum, count) => sum + count, 0)).toBe(names.length);
});

it("processes that come and go: each account has one at a time, and nothing is sent twice", {
  timeout: 300_000,
}, async () => {
  const { world, accounts, processes, start } = await dividedWorld("coming", 3);
  await world.control("POST", "/__faults", slow(2_000));
  const names = await applyObjects(world, accounts, "three", 4);
  await eventually("jobs are sent", async () => (await world.audit("submitSpeech")).length >= ACCOUNTS);

  // One process is killed with requests under way, one sleeps, and one ends in order.
  const [stopping, killed, asleep] = processes;
  if (asleep === undefined) throw new Error("three processes were started");
  await killed?.operator.kill();
  asleep.slept = true;
  process.kill(asleep.operator.pid, "SIGSTOP");
  const next = await Promise.all([start(), start()]);
  for (const { operator } of next) await untilStarted(operator);
  expect(await stopping?.operator.stop()).toBe(0);
  const leases = () => next.map(({ operator }) => leaseOf(operator));
  await eventually("the next processes serve every account", async () =>
    (await serversOf(world)).every((server) => leases().includes(server)),
  );
  process.kill(asleep.operator.pid, "SIGCONT");
  expect(await asleep.operator.exited).toBe(1);
  names.push(...(await applyObjects(world, accounts, "two", 2)));
  const halted = await settled(world, names);
  expect(halted.filter((job) => !job.includes("-three-"))).toEqual([]);
  await expectOnce(world, names);

  // Then one process follows the other.
  for (const { operator } of next) await operator.stop();
  const single = await start();
  names.push(...(await applyObjects(world, accounts, "one", 1)));
  expect(await settled(world, names)).toEqual(halted);
  await expectOnce(world, names);

  for (const account of accounts) {
    const callers = callersOf(account, processes);
    expectRateOf(account, callers);
    expect(callers.at(-1), account.name).toBe(single);
    expect(condition(await world.get("Account", account.name), "Contested")).toBeUndefined();
  }
});
