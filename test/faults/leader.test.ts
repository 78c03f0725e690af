import { expect, it } from "vitest";
import { configMapResource } from "../../src/submission/journal.ts";
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

type JournalVersion = { epoch: number; holder: string };

/** Every version of the journal, from a watch of the test's own. */
async function followJournal(world: World): Promise<JournalVersion[]> {
  const versions: JournalVersion[] = [];
  const lines = world.kube.watch(
    configMapResource,
    { namespace: world.namespace },
    { inactivityMs: 600_000, query: { fieldSelector: "metadata.name=mooring-journal" } },
  );
  void (async () => {
    try {
      for await (const line of lines) {
        const { object } = JSON.parse(line) as { object: { data?: Record<string, string> } };
        if (object.data?.holder !== undefined) {
          versions.push({ epoch: Number(object.data.epoch), holder: object.data.holder });
        }
      }
    } catch {
      // The world was closed, and with it the watch.
    }
  })();
  return versions;
}

/** One holder per epoch, and no epoch after a later one: nobody wrote who did not lead. */
function expectFenced(history: readonly JournalVersion[], epochs: number): void {
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

it.concurrent("a clean stop hands over: the standby leads within 3 s", { timeout: 120_000 }, async () => {
  const { world, leader, standby, history } = await twoReplicas("handover");
  await world.apply(manifest("endpoint", {}, "first"));
  await waitForCondition(world, "GpuEndpoint", "first", "Ready");
  expect(await leader.stop()).toBe(0);
  const stopped = performance.now();
  await eventually("the standby leads", async () => leads(standby));
  const seconds = (performance.now() - stopped) / 1000;
  console.log(`takeover after a clean stop: ${seconds.toFixed(1)} s`);
  expect(seconds).toBeLessThan(3);
  await world.apply(manifest("endpoint", {}, "second"));
  await expectOnce(world, ["first", "second"]);
  expectFenced(history, 2);
});

it.concurrent("kill -9 of the leader: the standby leads within the lease time", { timeout: 120_000 }, async () => {
  const { world, leader, standby, history } = await twoReplicas("killed");
  const killed = performance.now();
  await leader.kill();
  await world.apply(manifest("endpoint", {}, "orphan"));
  await eventually("the standby leads", async () => leads(standby));
  const seconds = (performance.now() - killed) / 1000;
  console.log(`takeover after kill -9: ${seconds.toFixed(1)} s`);
  // 15 s of lease from its last renewal, and one retry of 2 s to see it.
  expect(seconds).toBeLessThan(20);
  await expectOnce(world, ["orphan"]);
  expectFenced(history, 2);
});

it.concurrent("a leader that sleeps for 30 s sends nothing and commits nothing when it wakes", {
  timeout: 180_000,
}, async () => {
  const { world, leader, standby, history } = await twoReplicas("asleep");
  await world.apply(manifest("endpoint", {}, "before"));
  await waitForCondition(world, "GpuEndpoint", "before", "Ready");
  // Work that the leader would do the moment it wakes: it was told of it in its sleep.
  process.kill(leader.pid, "SIGSTOP");
  const names = Array.from({ length: 20 }, (_, index) => `asleep-${index}`);
  await Promise.all(names.map((name) => world.apply(manifest("endpoint", {}, name))));
  await Promise.all(names.map((name) => world.apply(manifest("hd", {}, name))));
  await new Promise((resolve) => setTimeout(resolve, 30_000));
  expect(leads(standby)).toBe(true);
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
