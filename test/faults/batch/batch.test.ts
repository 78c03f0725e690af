import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { createRandom } from "../../../src/simulator/random.ts";
import { startControlPlane } from "../../../tools/cluster/control-plane.ts";
import { tools } from "../../support/command-line.ts";
import { installCRDs } from "../../support/control-plane-setup.ts";
import { manifest } from "../../support/manifests.ts";
import { condition, eventually, type Operator } from "../../support/world.ts";
import { costOf } from "./measures.ts";
import { createScene, linesOf, ODD, type Scene } from "./scene.ts";
import { AGAIN, KILLED, LIMIT_MS, MANY } from "./size.ts";

/** Mean time for which the operator works before it is killed. The next one serves the account when the Lease of the killed one ends. */
const KILL_MS = 10_000;
const CALL_MS = 300;
/** Between two lists of all jobs, so that they do not slow down what is tested. */
const LIST_MS = 500;
const TEST_MS = LIMIT_MS + 60_000;

async function addFaults({ world }: Scene, share: number): Promise<void> {
  for (const fault of [
    { kind: "resetAfter", probability: share },
    { kind: "status", status: 502, after: true, probability: share },
    { kind: "status", status: 503, probability: share },
    { kind: "latency", latencyMs: CALL_MS, probability: 1 },
  ]) {
    await world.control("POST", "/__faults", { operation: "synthesizeSpeech", ...fault });
  }
}

/** Kills the operator again and again while the batch goes on. `stop`: returns how often it was killed. */
function killAtRandom({ world, start }: Scene, name: string, first: Operator): { stop(): Promise<number> } {
  const random = createRandom(7);
  let operator = first;
  let kills = 0;
  let going = true;
  const done = async () => {
    const { succeeded = 0, failed = 0 } = (await world.get("MediaBatch", name)).status ?? {};
    return Number(succeeded) + Number(failed);
  };
  const killing = (async () => {
    for (let before = 0; going; ) {
      await eventually("the batch goes on", async () => !going || (await done()) > before, LIMIT_MS);
      await sleep(KILL_MS * (0.5 + random.next()));
      if (!going) return;
      before = await done();
      await operator.kill();
      kills++;
      operator = await start();
    }
  })();
  return {
    async stop() {
      going = false;
      await killing;
      return kills;
    },
  };
}

it(
  `killed: of ${KILLED.items} items, none is paid for twice while responses are lost, and one command resolves the rest`,
  async () => {
    const { items, parallelism, maxHaltedIndexes, requestsPerSecond, share } = KILLED;
    const rateLimit = { requestsPerSecond, burst: 15 };
    const scene = await createScene("batch-killed", { account: { rateLimit } });
    const { world } = scene;
    try {
      await addFaults(scene, share);
      const operator = await scene.start();
      await scene.apply("book", items, { parallelism, maxHaltedIndexes });
      const killing = killAtRandom(scene, "book", operator);

      const { mooring } = tools(world);
      let [commands, resolved, most] = [0, 0, 0];
      let working = 0;
      const batch = await scene.ended("book", async (now) => {
        const jobs = await world.list("SpeechJob");
        most = Math.max(most, jobs.length);
        working = Math.max(working, jobs.filter(({ status }) => status?.phase !== "Halted").length);
        await sleep(LIST_MS);
        if (condition(now, "Stalled")?.reason !== "JobsHalted") return;
        const { stdout, stderr } = await mooring("resolve", "mediabatch/book", "--give-up");
        const [, count = 0] = /^(\d+) halted/.exec(stdout) ?? [];
        if (Number(count) === 0) return; // the status is not written yet
        console.log(`${stdout.split("\n")[0]} ${stderr}`);
        commands++;
        resolved += Number(count);
      });
      const kills = await killing.stop();

      const counts = await scene.paid();
      const twice = [...counts].filter(([, count]) => count > 1);
      console.log(
        `${items} items, ${kills} kills: ${counts.size} paid, ${twice.length} twice; ${resolved} halted jobs given up with ${commands} command; at most ${most} jobs, ${working} of them not halted`,
      );
      expect(twice).toEqual([]);
      const { succeeded, failed } = batch.status as { succeeded: number; failed: number };
      expect(succeeded + failed).toBe(items);
      expect(failed).toBeLessThanOrEqual(resolved);
      expect(commands).toBe(1);
      expect(working).toBeLessThanOrEqual(parallelism);
      const lines = await linesOf(batch);
      expect(lines).toHaveLength(items);
      expect(lines.filter(({ key }) => key !== undefined)).toHaveLength(succeeded);
    } finally {
      await scene.close();
    }
  },
  TEST_MS,
);

it(
  `many: of ${MANY.items} items every second one fails, and memory, status and writes for each are those of ${MANY.few}`,
  async () => {
    // Its API server counts the requests of this operator alone.
    const controlPlane = await startControlPlane();
    await installCRDs(controlPlane.kubectl, controlPlane.kubeconfig);
    const scene = await createScene("batch-many", { kubeconfig: controlPlane.kubeconfig });
    const { world } = scene;
    const { parallelism } = MANY;
    try {
      await world.control("POST", "/__faults", {
        operation: "synthesizeSpeech",
        kind: "status",
        status: 400,
        body: { code: 400, reason: "INVALID_ARGUMENT", message: "the text is odd", metadata: {} },
        match: ODD,
        probability: 1,
      });
      const spec = { parallelism };
      const few = await costOf(scene, controlPlane, { name: "few", items: MANY.few, spec });
      console.log(`few: ${JSON.stringify(few)}`);
      const { speech } = manifest("batch").spec["template"] as { speech: object };
      const template = { speech: { ...speech, outputFormat: "url" } };
      const copied = await costOf(scene, controlPlane, {
        name: "copied",
        items: MANY.few,
        spec: { ...spec, template },
      });
      console.log(`copied: ${JSON.stringify(copied)}`);
      const many = await costOf(scene, controlPlane, { name: "many", items: MANY.items, spec });
      console.log(`many: ${JSON.stringify(many)}`);

      const { status } = await world.get("MediaBatch", "many");
      expect(status).toMatchObject({ phase: "Failed", succeeded: MANY.items / 2, failed: MANY.items / 2 });
      expect(many.status).toBeLessThan(64 * 1024);
      for (const { writes } of [few, copied, many]) expect(writes).toBeLessThanOrEqual(6);
      expect(many.heapMiB).toBeLessThan(few.heapMiB * 1.1);
      // The memory of a process settles within 10,000 items, a tenth of the long form: from then on, it stays.
      if (MANY.items >= 100_000) expect(many.peaksMiB.at(-1)).toBeLessThan((many.peaksMiB[0] ?? 0) * 1.1);
    } finally {
      await scene.close();
      await world.close();
      await controlPlane.stop();
    }
  },
  TEST_MS,
);

it(
  `again: ${AGAIN.items} items with reuse that are applied twice are paid for once`,
  async () => {
    const { items, parallelism } = AGAIN;
    const scene = await createScene("batch-again");
    const { world } = scene;
    const run = async (name: string) => {
      const since = performance.now();
      await scene.apply(name, items, { parallelism, reuse: "SameRequest" });
      const batch = await scene.ended(name);
      return { batch, seconds: Math.round((performance.now() - since) / 1_000) };
    };
    try {
      await scene.start();
      const first = await run("first");
      expect((await scene.paid()).size).toBe(items);
      await world.remove("MediaBatch", "first");
      const second = await run("second");
      const counts = [...(await scene.paid()).values()];
      const paid = counts.reduce((sum, count) => sum + count, 0);
      console.log(`${items} items: ${first.seconds} s, and again ${second.seconds} s; ${paid} paid in all`);
      expect(paid).toBe(items);
      expect(second.batch.status).toMatchObject({ phase: "Succeeded", succeeded: items });
      expect((await linesOf(second.batch)).filter(({ reusedFrom }) => reusedFrom !== undefined)).toHaveLength(items);
      expect(second.seconds).toBeLessThan(300);
    } finally {
      await scene.close();
    }
  },
  TEST_MS,
);
