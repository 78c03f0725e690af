import { expect, it } from "vitest";
import { createSemaphore } from "../../src/base/semaphore.ts";
import { type RunOptions, type RunReport, runCombination } from "../faults/campaign/run.ts";
import { pairsIn, pairsOf } from "./covering-array.ts";
import { FACTORS, LEVELS, ROWS, switchesOf } from "./factors.ts";

/**
 * `npm run test:full` runs one row, with `--only pairs --long` all. `--rows` selects rows by their numbers, separated by commas.
 * `--parallel` is the number of rows that run at once.
 */
const text = (name: string) => process.env[`MOORING_PAIRS${name}`];
const FULL = text("") === "1";
const selected = text("_ROWS")?.split(",").map(Number) ?? (FULL ? ROWS.map((_, index) => index) : [5]);
const rows = selected.map((index) => ({ index, row: ROWS[index] ?? [] }));
const SIZE: Omit<RunOptions, "seed"> = { jobs: 10, endpoints: 4, kills: 1, arrivalMs: 2_500, endsEarly: true };
const atOnce = createSemaphore({ capacity: Number(text("_PARALLEL") ?? 4) });

it("the behaviors that the interface leaves open, with their values", () => {
  const lines = FACTORS.map(({ name, values, interface: sentence }) => {
    const shown = values.map((value) => value.name).join(" | ");
    return `${name}: ${shown}\n    ${sentence}`;
  });
  const covered = new Set(ROWS.flatMap(pairsIn).map((pair) => JSON.stringify(pair)));
  const pairs = pairsOf(LEVELS).length;
  if (FULL) console.log(lines.join("\n"));
  console.log(`${FACTORS.length} behaviors, ${pairs} pairs of values, ${covered.size} covered by ${ROWS.length} rows`);
  expect(covered.size).toBe(pairs);
});

it.concurrent.for(rows)(
  `row $index of the covering array: ${SIZE.jobs} jobs, ${SIZE.endpoints} endpoints and a kill`,
  { timeout: 3_600_000 },
  async ({ index, row }, { expect: _expect }) => {
    const release = await atOnce.take("rows", 1, new AbortController().signal);
    const values = switchesOf(row);
    const report = await runCombination(values, { ...SIZE, seed: index + 1 }).finally(release);
    const { duplicates, losses, wrong } = report;
    // The comparison of both sides looks at the workers alone.
    const drifts = values.some((value) => value.drifts === true);
    const contradictions = report.contradictions.filter((line) => !drifts || !line.includes(" is not Synced, "));
    const found = { duplicates, losses, contradictions, wrong };
    const good = { duplicates: [], losses: [], contradictions: [], wrong: [] };
    process.stderr.write(`row ${index}: ${lineOf(report, found)}\n`);
    expect(found, report.name).toEqual(good);
  },
);

function lineOf(report: RunReport, found: Record<string, string[]>): string {
  const { name, phases, taken, calls, faults, settledAfterMs, evidence } = report;
  const bad = Object.entries(found).flatMap(([what, lines]) => lines.map((line) => `\n    ${what}: ${line}`));
  const figures = `${JSON.stringify(phases)}, ${taken} paid, ${calls} calls, ${faults} faults, settled after ${Math.round(settledAfterMs / 1_000)} s`;
  return bad.length === 0 ? figures : [figures, ...bad, `\n    ${name}\n`, ...evidence.slice(0, 12)].join("");
}
