import { expect, it } from "vitest";
import type { KubeObject } from "../../src/kube/types.ts";
import { leaseResource } from "../../src/runtime/lease.ts";
import { configMapResource } from "../../src/submission/journal.ts";
import { JOURNAL_MAPS } from "../support/journal-maps.ts";
import { manifest } from "../support/manifests.ts";
import {
  closeWorldsAfterAll,
  condition,
  disposableWorld,
  eventually,
  type Operator,
  type World,
  waitForCondition,
} from "../support/world.ts";

closeWorldsAfterAll();

const LEASE_MS = 15_000;
const ELECT = { args: ["--leader-elect"] };
const leads = (operator: Operator) => operator.log().includes('"msg":"controllers started"');

/** Two replicas, the first of which leads. */
async function twoReplicas(prefix: string) {
  const world = await disposableWorld(prefix);
  const history = await followJournal(world);
  const leader = await world.startOperator(ELECT);
  await eventually("the first leads", async () => leads(leader));
  const standby = await world.startOperator(ELECT);
  await eventually("the second stands by", async () => standby.log().includes("waiting for the lease"));
  return { world, leader, standby, history };
}

type LeaseSpec = { holderIdentity: string; acquireTime: string; renewTime: string };

async function leaseOf(world: World): Promise<LeaseSpec> {
  const place = { namespace: world.namespace, name: "mooring-operator" };
  return (await world.kube.get<KubeObject<LeaseSpec>>(leaseResource, place)).spec;
}

type JournalVersion = { name: string; epoch: number; holder: string };

/** Every version of every shard of the journal, from a watch of the test's own. */
async function followJournal(world: World): Promise<JournalVersion[]> {
  const versions: JournalVersion[] = [];
  const lines = world.kube.watch(configMapResource, { namespace: world.namespace }, { inactivityMs: 600_000 });
  void (async () => {
    try {
      for await (const line of lines) {
        const { object } = JSON.parse(line) as {
          object: { metadata: { name: string }; data?: Record<string, string> };
        };
        const { name } = object.metadata;
        if (JOURNAL_MAPS.includes(name) && object.data?.holder !== undefined) {
          versions.push({ name, epoch: Number(object.data.epoch), holder: object.data.holder });
        }
      }
    } catch {
      // The world was closed, and with it the watch.
    }
  })();
  return versions;
}

/** In each shard, one holder per epoch, and no epoch after a later one: nobody wrote who did not lead. */
function expectFenced(versions: readonly JournalVersion[], epochs: number): void {
  for (const name of JOURNAL_MAPS) {
    expectShardFenced(
      versions.filter((one) => one.name === name),
      epochs,
    );
  }
}

function expectShardFenced(history: readonly JournalVersion[], epochs: number): void {
  const order = history.map(({ epoch }) => epoch);
  expect(order).toEqual([...order].sort((a, b) => a - b));
  expect(new Set(order).size).toBe(epochs);
  for (const epoch of new Set(order)) {
    expect(new Set(history.filter((one) => one.epoch === epoch).map(({ holder }) => holder)).size).toBe(1);
  }
}

async function expectOnce(world: World, names: readonly string[]): Promise<void> {
  for (const name of names) await waitForCondition(world, "GpuEndpoint", name, "Ready");
  const { endpoints } = await world.state();
  expect(endpoints).toHaveLength(names.length);
  expect((await world.audit("createEndpoint")).filter(({ id }) => id !== undefined)).toHaveLength(names.length);
}

it.concurrent("a clean stop hands over: the standby need not wait for the lease to expire", async () => {
  const { world, leader, standby, history } = await twoReplicas("handover");
  await world.apply(manifest("endpoint", {}, "first"));
  await waitForCondition(world, "GpuEndpoint", "first", "Ready");
  const { holderIdentity } = await leaseOf(world);
  expect(await leader.stop()).toBe(0);
  expect((await leaseOf(world)).holderIdentity).not.toBe(holderIdentity);
  await eventually("the standby leads", async () => leads(standby));
  await world.apply(manifest("endpoint", {}, "second"));
  await expectOnce(world, ["first", "second"]);
  expectFenced(history, 2);
});

it.concurrent("kill -9 of the leader: the standby leads once the lease has expired, and not before", async () => {
  const { world, leader, standby, history } = await twoReplicas("killed");
  await leader.kill();
  const { renewTime } = await leaseOf(world);
  await world.apply(manifest("endpoint", {}, "orphan"));
  await eventually("the standby leads", async () => leads(standby));
  const { acquireTime } = await leaseOf(world);
  expect(Date.parse(acquireTime) - Date.parse(renewTime)).toBeGreaterThanOrEqual(LEASE_MS);
  await expectOnce(world, ["orphan"]);
  expectFenced(history, 2);
});

it.concurrent("a leader that sleeps until another leads sends nothing and commits nothing when it wakes", async () => {
  const { world, leader, standby, history } = await twoReplicas("asleep");
  await world.apply(manifest("endpoint", {}, "before"));
  await waitForCondition(world, "GpuEndpoint", "before", "Ready");
  // Work that the leader would do the moment it wakes: it was told of it in its sleep.
  process.kill(leader.pid, "SIGSTOP");
  const names = Array.from({ length: 20 }, (_, index) => `asleep-${index}`);
  await Promise.all(names.map((name) => world.apply(manifest("endpoint", {}, name))));
  await Promise.all(names.map((name) => world.apply(manifest("hd", {}, name))));
  await eventually("the standby leads", async () => leads(standby));
  process.kill(leader.pid, "SIGCONT");
  expect(await leader.exited).toBe(1);
  expect(leader.log()).toMatch(/lease .* lost|has replaced our epoch/);

  await expectOnce(world, ["before", ...names]);
  await eventually("every job is done", async () =>
    (await world.list("SpeechJob")).every((job) => condition(job, "Complete")?.status === "True"),
  );
  expect(await world.audit("submitSpeech")).toHaveLength(names.length);
  expectFenced(history, 2);
});

it.concurrent("an accepted response that arrives at a deposed leader ends the halt, and no second attempt follows", async () => {
  const { world, leader, standby } = await twoReplicas("deposed");
  await waitForCondition(world, "Account", "default", "Ready");
  await world.control("POST", "/__faults", {
    operation: "submitSpeech",
    kind: "latency",
    latencyMs: 10_000,
    after: true,
  });
  await world.apply(manifest("hd", {}, "sent"));
  await eventually("the request took effect", async () => (await world.state()).tasks.length === 1);
  process.kill(leader.pid, "SIGSTOP");
  await eventually("the standby leads", async () => leads(standby));
  await eventually("the job is halted", async () => (await world.get("SpeechJob", "sent")).status?.phase === "Halted");

  // The response has arrived in the meantime. The deposed leader finds it when it wakes.
  process.kill(leader.pid, "SIGCONT");
  const done = await waitForCondition(world, "SpeechJob", "sent", "Complete");
  expect(done.status).toMatchObject({ attempts: 1, submission: { attempt: 1, state: "Accepted" } });
  expect(await world.audit("submitSpeech")).toHaveLength(1);
  expect(await leader.exited).toBe(1);
});
