import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { createRandom } from "../../src/simulator/random.ts";
import { tools } from "../support/command-line.ts";
import { manifest } from "../support/manifests.ts";
import { createWorld, eventually, type World } from "../support/world.ts";

const IS_LONG = process.env["MOORING_BATCH"] === "1";
const ITEMS = IS_LONG ? 5_000 : 300;
/** More than the items whose outcome is unknown: one command resolves all of them. */
const PARALLELISM = IS_LONG ? 500 : 100;
/** Mean time for which the operator works before it is killed. The next one serves the account when the Lease of the killed one ends. */
const KILL_MS = 10_000;
const CALL_MS = 300;
/** Some requests are under way at a kill: their outcome is unknown. */
const RATE = { requestsPerSecond: 15, burst: 15 };
/** The share of requests with each fault. */
const SHARE = IS_LONG ? 0.01 : 0.02;
const LIMIT_MS = IS_LONG ? 3 * 3_600_000 : 900_000;

const textOf = (index: number) => `item ${String(index).padStart(5, "0")}.`;

/** How often the service has made the audio of each item. */
async function paid(world: World): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for (const { effect, body } of await world.audit("synthesizeSpeech")) {
    const text = typeof body?.text === "string" ? body.text : "";
    if (effect !== undefined && text.startsWith("item ")) counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  return counts;
}

it(
  `${ITEMS} items: none is paid for twice while the operator is killed and responses are lost, and one command resolves the rest`,
  async () => {
    const root = await mkdtemp(join(tmpdir(), "mooring-batch-faults-"));
    const world = await createWorld("batch-faults", { account: { rateLimit: RATE } });
    const start = () => world.startOperator({ args: [`--artifact-root=${root}`] });
    const random = createRandom(7);
    try {
      let operator = await start();
      await world.apply({
        kind: "ArtifactStore",
        metadata: { name: "results" },
        spec: { volume: { path: "results" } },
      });
      for (const fault of [
        { kind: "resetAfter", probability: SHARE },
        { kind: "status", status: 502, after: true, probability: SHARE },
        { kind: "status", status: 503, probability: SHARE },
        { kind: "latency", latencyMs: CALL_MS, probability: 1 },
      ]) {
        await world.control("POST", "/__faults", { operation: "synthesizeSpeech", ...fault });
      }
      const items = Array.from({ length: ITEMS }, (_, index) => JSON.stringify({ text: textOf(index) })).join("\n");
      await world.apply({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "book" }, data: { items } });
      const spec = {
        items: { inline: null, configMapKeyRef: { name: "book", key: "items" } },
        template: { speech: { outputFormat: "hex" } },
        parallelism: PARALLELISM,
      };
      await world.apply(manifest("batch", spec, "book"));

      let kills = 0;
      let going = true;
      const ended = async () => {
        const { succeeded = 0, failed = 0 } = (await world.get("MediaBatch", "book")).status ?? {};
        return Number(succeeded) + Number(failed);
      };
      const killing = (async () => {
        for (let before = 0; going; ) {
          await eventually("the batch goes on", async () => !going || (await ended()) > before, LIMIT_MS);
          await sleep(KILL_MS * (0.5 + random.next()));
          if (!going) return;
          before = await ended();
          await operator.kill();
          kills++;
          operator = await start();
        }
      })();
      const { mooring } = tools(world);
      let resolved = 0;
      let most = 0;
      let last = "";
      const done = await eventually(
        "the batch has ended",
        async () => {
          const batch = await world.get("MediaBatch", "book");
          const { phase, halted = 0, active = 0 } = batch.status ?? {};
          last = JSON.stringify(batch.status);
          if (phase === "Succeeded" || phase === "Failed") return batch;
          most = Math.max(most, (await world.list("SpeechJob")).length);
          if (halted === 0 || halted !== active) return undefined;
          // Only halted jobs hold the batch back.
          const { code, stdout, stderr } = await mooring("resolve", "mediabatch/book", "--give-up");
          const [, count] = /^(\d+) halted/.exec(stdout) ?? [];
          resolved += Number(count ?? 0);
          if (code !== 0) console.log(stderr);
          return undefined;
        },
        LIMIT_MS,
      ).catch((error: unknown) => {
        throw new Error(`${last}\n${operator.log().slice(-2_000)}`, { cause: error });
      });
      going = false;
      await killing;

      const counts = await paid(world);
      const twice = [...counts].filter(([, count]) => count > 1);
      console.log(
        `${ITEMS} items, ${kills} kills: ${counts.size} paid, ${twice.length} twice, ${resolved} halted jobs given up`,
      );
      expect(twice).toEqual([]);
      const { succeeded, failed } = done.status as { succeeded: number; failed: number };
      expect(succeeded + failed).toBe(ITEMS);
      expect(failed).toBeLessThanOrEqual(resolved);
      expect(most).toBeLessThanOrEqual(PARALLELISM);
      const { index } = done.status as unknown as { index: { uri: string } };
      const lines = (await readFile(fileURLToPath(index.uri))).toString().trimEnd().split("\n");
      expect(lines).toHaveLength(ITEMS);
      expect(lines.filter((line) => JSON.parse(line).key !== undefined)).toHaveLength(succeeded);
    } finally {
      await rm(root, { recursive: true, force: true });
    }
  },
  LIMIT_MS + 60_000,
);
