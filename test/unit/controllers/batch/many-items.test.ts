import { expect, it } from "vitest";
import { gc } from "../../../support/gc.ts";
import { batchWorld } from "./batch-world.ts";

/** docs/how-to/batches.md has the figures of 100,000. */
const ITEMS = Number(process.env["MOORING_BATCH_ITEMS"] ?? 1_000);
const PARALLELISM = 50;
const stored = {
  phase: "Succeeded",
  results: [{ kind: "Audio", type: "mp3", artifact: { uri: "u", bytes: 1, sha256: "a".repeat(64) } }],
} as const;

/** Runs a batch of which every second item fails, without the time that jobs take. */
async function measure(total: number) {
  const object = { storeRef: { name: "results" }, key: "in.jsonl" };
  const world = batchWorld({ items: { inline: null, object }, parallelism: PARALLELISM });
  const lines = Array.from({ length: total }, (_, at) => `{"text":"page ${at} of a book with many pages."}`);
  world.files.set("in.jsonl", lines.splice(0).join("\n"));
  gc();
  const before = process.memoryUsage().heapUsed;
  let [writes, largest, halfway] = [0, 0, 0];
  for (;;) {
    await world.reconcile();
    writes += world.writes.splice(0).length;
    const { status } = world.batch();
    largest = Math.max(largest, JSON.stringify(status ?? {}).length);
    const { phase, succeeded = 0, failed = 0 } = status ?? {};
    if (halfway === 0 && succeeded + failed >= total / 2) {
      gc();
      halfway = process.memoryUsage().heapUsed - before;
    }
    if (phase === "Succeeded" || phase === "Failed") break;
    for (const { metadata } of world.running()) {
      const isGood = Number(metadata.name.split("-").at(-1)) % 2 === 0;
      world.end(metadata.name, isGood ? { ...stored, results: [...stored.results] } : { phase: "Failed" });
    }
  }
  return {
    total,
    writesPerItem: writes / total,
    largestStatus: largest,
    heapMiB: halfway / 2 ** 20,
    batch: world.batch(),
  };
}

it(`${ITEMS} items: the status stays below 64 KiB, the batch writes about twice for each, and its memory does not grow`, {
  timeout: 3_600_000,
}, async () => {
  await measure(1_000); // what is compiled and loaded does not count
  const small = await measure(1_000);
  const { batch, ...large } = ITEMS === 1_000 ? small : await measure(ITEMS);
  if (ITEMS !== 1_000) console.log(JSON.stringify({ ...large, heapMiBOf1000: small.heapMiB }));
  expect(batch.status).toMatchObject({ phase: "Failed", succeeded: ITEMS / 2, failed: ITEMS / 2 });
  expect(large.largestStatus).toBeLessThan(64 * 1024);
  expect(large.writesPerItem).toBeLessThan(2.2);
  // The store of the test is in the same heap: about 80 bytes for each item that ended.
  expect(large.heapMiB).toBeLessThan(small.heapMiB + 2 + (ITEMS * 100) / 2 ** 20);
});
