import { expect, it } from "vitest";
import { type RunOptions, runCombination } from "../campaign/run.ts";
import { pairsIn, pairsOf } from "./covering-array.ts";
import { FACTORS, LEVELS, ROWS, switchesOf } from "./factors.ts";

/** `npm run test:sim -- pairs --rows NUMBERS`: some rows, separated by commas. `--seed N`: row 0 has this seed, row 1 the next. */
const selected = process.env["MOORING_PAIRS_ROWS"]?.split(",").map(Number);
const SEED = Number(process.env["MOORING_PAIRS_SEED"] ?? 1);
const rows = ROWS.map((row, index) => ({ index, row })).filter(({ index }) => selected?.includes(index) ?? true);
const SIZE: Omit<RunOptions, "seed"> = { jobs: 10, endpoints: 4, kills: 1, arrivalMs: 2_500 };

it("the behaviors that the interface leaves open, with their values", () => {
  const lines = FACTORS.map(({ name, values, interface: sentence }) => {
    const shown = values.map((value) => value.name).join(" | ");
    return `${name}: ${shown}\n    ${sentence}`;
  });
  const covered = new Set(ROWS.flatMap(pairsIn).map((pair) => JSON.stringify(pair)));
  const pairs = pairsOf(LEVELS).length;
  if (selected !== undefined) console.log(lines.join("\n"));
  console.log(`${FACTORS.length} behaviors, ${pairs} pairs of values, ${covered.size} covered by ${ROWS.length} rows`);
  expect(covered.size).toBe(pairs);
});

it.each(rows)(
  `row $index of the covering array: ${SIZE.jobs} jobs, ${SIZE.endpoints} endpoints and a kill`,
  async ({ index, row }) => {
    const values = switchesOf(row);
    const report = await runCombination(values, { ...SIZE, seed: SEED + index });
    const { duplicates, losses, wrong } = report;
    // The comparison of both sides looks at the workers alone.
    const drifts = values.some((value) => value.drifts === true);
    const contradictions = report.contradictions.filter((line) => !drifts || !line.includes(" is not Synced, "));
    const { phases, taken, calls, faults, settledAfterMs } = report;
    console.log(
      `row ${index}: ${JSON.stringify(phases)}, ${taken} paid, ${calls} calls, ${faults} faults, settled after ${Math.round(settledAfterMs / 1_000)} s`,
    );
    const good = { duplicates: [], losses: [], contradictions: [], wrong: [] };
    expect({ duplicates, losses, contradictions, wrong }, report.name).toEqual(good);
  },
);
