import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it, onTestFailed } from "vitest";
import { createRandom } from "../../../src/simulator/random.ts";
import { manifest } from "../../support/manifests.ts";
import { leaseOf } from "../../support/serving.ts";
import { createWorld, eventually, type World } from "../../support/world.ts";
import { type Accounts, createAccounts, keyOf } from "./accounts.ts";
import { createJob, runLoad } from "./load.ts";
import { expectEndpointsOnce, expectJobsOnce, paidByText, untilEndpointsReady, untilJobsSucceeded } from "./outcome.ts";
import { type Life, type Replicas, startReplicas } from "./replicas.ts";
import { followServers, NOBODY, type Servers, summaryOf } from "./servers.ts";
import { disturbancesOf, SIZE, TAKEOVER_MS } from "./size.ts";

/** Of the service. Tasks take 0.8 s to 2.4 s. */
const TIME_SCALE = 0.4;
/** A part of the requests is under way for some time, so that disturbances find some. */
const SLOW = { kind: "latency", latencyMs: 2_000, after: true, probability: 0.2 };
const SETTLE_MS = 240_000;
/** The chunks of a stream with this text: 64,000 bytes of audio. */
const STREAM_TEXT = "x".repeat(60);
const STREAM_CHUNKS = 32;

const random = createRandom(SIZE.seed);
let world: World;
let accounts: Accounts;
let replicas: Replicas;
let servers: Servers;
let root: string;

const serverName = ({ operator }: Life) => leaseOf(operator) ?? "a process without a lease";

function printLogs(): void {
  for (const { name, fate, operator } of replicas.lives) {
    console.log(`replica ${name} ${fate ?? ""}\n${operator.log().split("\n").slice(-30).join("\n")}`);
  }
}

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "mooring-replicas-"));
  const apiKeys = Array.from({ length: SIZE.accounts + 1 }, (_, index) => keyOf(index));
  const simulator = { apiKeys, keySees: "Member", keySeesTasks: "Member", timeScale: TIME_SCALE } as const;
  world = await createWorld("replicas", { account: null, simulator });
  accounts = await createAccounts(world, SIZE.accounts);
  await world.apply({ kind: "ArtifactStore", metadata: { name: "disk" }, spec: { volume: { path: "disk" } } });
  replicas = await startReplicas(world, SIZE.replicas, ["--log-level=info", `--artifact-root=${root}`]);
  servers = followServers(accounts, serverName);
  await accounts.untilReady();
});

afterAll(async () => {
  replicas?.close();
  await servers?.close();
  await accounts?.close();
  await world?.close();
  await rm(root, { recursive: true, force: true });
});

/** Every third disturbance hits any replica. The others hit one that serves accounts: after some time, few do. */
function victimOf(steady: readonly Life[], turn: number): Life {
  const counts = servers.now();
  const serving = steady.filter((life) => (counts[serverName(life)] ?? 0) > 0);
  const candidates = turn % 3 === 2 || serving.length === 0 ? steady : serving;
  return candidates[Math.floor(random.next() * candidates.length)] ?? expect.fail("no replica is steady");
}

/** One replica after the other is killed, stopped or frozen. Ends when each frozen one has been woken. */
async function disturb(): Promise<void> {
  const under: Promise<void>[] = [];
  await eventually("every account is served", async () => servers.now()[NOBODY] === undefined);
  for (const [turn, kind] of disturbancesOf(SIZE, () => random.next()).entries()) {
    const steady = await eventually("a replica is steady", async () => {
      const found = replicas.steady();
      return found.length > 0 && found;
    });
    const life = victimOf(steady, turn);
    console.log(`${kind} ${life.name}; accounts: ${JSON.stringify(servers.now())}`);
    servers.disturbed(kind, life);
    if (kind === "killed") under.push(replicas.kill(life));
    else if (kind === "stopped") under.push(replicas.stop(life));
    else under.push(replicas.freeze(life, SIZE.frozenSeconds * 1_000));
    await sleep(SIZE.everySeconds * 1_000);
  }
  await Promise.all(under);
}

/** @param isCertain at least one of these disturbances hit a process that served accounts */
function expectTakeovers(kind: keyof typeof TAKEOVER_MS, isCertain: boolean): void {
  const takeovers = servers.takeovers().filter((one) => one.kind === kind);
  console.log(summaryOf(kind, takeovers));
  if (isCertain) expect(takeovers, kind).not.toEqual([]);
  expect(takeovers.filter(({ ms }) => ms === undefined || ms > TAKEOVER_MS[kind])).toEqual([]);
}

describe("replicas that are killed, stopped and frozen", () => {
  it("lose nothing and send nothing twice, and others take over in time", { timeout: 3_600_000 }, async () => {
    onTestFailed(printLogs);
    await world.control("POST", "/__faults", [
      { operation: "submitSpeech", ...SLOW },
      { operation: "createEndpoint", ...SLOW },
    ]);
    const durationMs = SIZE.disturbances * SIZE.everySeconds * 1_000;
    const loadRandom = createRandom(SIZE.seed + 1);
    await Promise.all([
      disturb(),
      runLoad({ world, accounts, size: SIZE, durationMs, random: () => loadRandom.next() }),
    ]);
    const calmAt = performance.now();
    const decisions = await untilJobsSucceeded(world, SIZE.jobs, SETTLE_MS);
    await untilEndpointsReady(world, SIZE.endpoints, SETTLE_MS);
    console.log(
      `settled ${Math.round((performance.now() - calmAt) / 1_000)} s after the last disturbance; halted jobs: ` +
        `${decisions.attached.length} attached, ${decisions.resubmitted.length} sent again`,
    );
    await expectJobsOnce(world);
    await expectEndpointsOnce(world);
    // The last of few disturbances, a freeze, can hit a process that serves nothing.
    for (const kind of ["killed", "stopped", "frozen"] as const) expectTakeovers(kind, kind !== "frozen");
  });
});

describe("a rolling restart", () => {
  it("ends no stream, moves each account in seconds, and sends nothing twice", { timeout: 3_600_000 }, async () => {
    onTestFailed(printLogs);
    const streamChunkMs = (SIZE.streamSeconds * 1_000) / STREAM_CHUNKS / TIME_SCALE;
    await world.control("POST", "/__config", { streamChunkBytes: 2_000, streamChunkMs });
    const [accountRef] = accounts.refs;
    const output = { storeRef: { name: "disk" } };
    await world.apply(manifest("turbo", { accountRef, text: STREAM_TEXT, stream: true, output }, "stream"));
    await eventually(
      "the stream has begun",
      async () => (await world.get("SpeechJob", "stream")).status?.["firstAudioMs"],
    );
    await eventually("every replica is steady", async () => replicas.steady().length === SIZE.replicas);
    const began = performance.now();
    const exits: Promise<number | null>[] = [];
    let jobs = 0;
    for (const life of replicas.steady()) {
      const { exited } = await replicas.replace(life, () => servers.disturbed("rolled", life));
      exits.push(exited);
      // The ClusterAccount has jobs that are finished, and no others: it is served all the same.
      for (const ref of accounts.endpointRefs) await createJob(world, `rolled-${jobs++}`, ref);
    }
    console.log(`the rolling restart took ${Math.round((performance.now() - began) / 1_000)} s`);
    expect(exits).toHaveLength(SIZE.replicas);
    expect((await world.get("SpeechJob", "stream")).status?.["phase"], "the stream outlasts it").not.toBe("Succeeded");

    const decisions = await untilJobsSucceeded(world, SIZE.jobs + jobs + 1, SETTLE_MS + SIZE.streamSeconds * 1_000);
    expect(decisions).toEqual({ attached: [], resubmitted: [] });
    expect(await Promise.all(exits)).toEqual(exits.map(() => 0));
    const stream = await world.get("SpeechJob", "stream");
    expect(stream.status).toMatchObject({ phase: "Succeeded", submission: { state: "Accepted", attempt: 1 } });
    const paid = await paidByText(world);
    expect([...paid.values()].filter((entries) => entries.length !== 1)).toEqual([]);
    expect(paid.size).toBe(SIZE.jobs + jobs + 1);
    expectTakeovers("rolled", true);
    expect(servers.now()[NOBODY]).toBeUndefined();
  });
});
