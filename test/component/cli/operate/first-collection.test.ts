import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const MODULE = new URL("../../../../src/cli/operate/first-collection.ts", import.meta.url).href;
/**
 * Prints the MiB of old generation after arrays have grown old and are not used any more: before the collection, and after it, or after
 * `looks` without one.
 */
const program = (keptMiB: number, looks: number) => `
  import { getHeapSpaceStatistics } from "node:v8";
  import { setTimeout } from "node:timers/promises";
  import { collectFirst } from "${MODULE}";
  const oldMiB = () => getHeapSpaceStatistics().find((space) => space.space_name === "old_space").space_used_size / 2 ** 20;
  const arrays = (mib) => Array.from({ length: mib * 128 }, () => new Array(1000).fill(0.5));
  const kept = arrays(${keptMiB});
  let left = arrays(20);
  for (let i = 0; i < 40; i++) arrays(1); // what is left grows old
  left = undefined;
  const before = oldMiB();
  collectFirst();
  for (let look = 0; look < ${looks} && oldMiB() > before - 15; look++) await setTimeout(20);
  console.log(JSON.stringify({ before, after: oldMiB(), kept: kept.length, exposed: typeof globalThis.gc }));
`;

async function run(keptMiB: number, looks: number) {
  const flags = ["--initial-old-space-size=400", "--max-semi-space-size=1", "--input-type=module", "--eval"];
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, program(keptMiB, looks)]);
  return JSON.parse(stdout) as { before: number; after: number; exposed: string };
}

test("a small heap is collected, and nobody else can collect", async () => {
  const { before, after, exposed } = await run(0, 1_000);
  expect(before).toBeGreaterThan(20);
  expect(after).toBeLessThan(before - 15);
  expect(exposed).toBe("undefined");
});

test("a large heap is left to V8: its collection would be a long pause", async () => {
  const { before, after } = await run(120, 10);
  expect(after).toBeGreaterThan(before - 1);
});
