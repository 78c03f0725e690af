import { expect, it } from "vitest";
import { type RunOptions, type RunReport, runCombination } from "./run.ts";
import { summaryOf } from "./summary.ts";
import { drawCombination, SWITCHES, type Switch } from "./switches.ts";

/**
 * The short form runs with `npm run test:full`. `npm run test:full -- --only campaign --long` runs the long form: each switch, then
 * random combinations until the time is over. --seconds (default 600), --jobs, --endpoints, --kills, --seed and --parallel change it,
 * --select repeats a switch, --keep names a folder for the audit log and the operators' logs of runs with a complaint.
 */
const number = (name: string, value: number) => Number(process.env[`MOORING_CAMPAIGN_${name}`] ?? value);
const SECONDS = number("SECONDS", process.env["MOORING_CAMPAIGN"] === "1" ? 600 : 0);
const LONG = SECONDS > 0;
const SEED = number("SEED", 1);
const PARALLEL = number("PARALLEL", 3);
const SIZE: Omit<RunOptions, "seed"> = {
  jobs: number("JOBS", LONG ? 200 : 40),
  endpoints: number("ENDPOINTS", LONG ? 50 : 10),
  kills: number("KILLS", LONG ? 2 : 1),
  arrivalMs: LONG ? 15_000 : 6_000,
  endsEarly: !LONG,
  keep: process.env["MOORING_CAMPAIGN_KEEP"],
};

function expectGood({ name, duplicates, losses, contradictions, wrong }: RunReport): void {
  const good = { duplicates: [], losses: [], contradictions: [], wrong: [] };
  expect({ duplicates, losses, contradictions, wrong }, name).toEqual(good);
}

function lineOf(report: RunReport): string {
  const { name, phases, taken, calls, faults, settledAfterMs, duplicates, losses, contradictions, wrong } = report;
  const longestPause = `${(report.longestPauseMs / 1_000).toFixed(1)} s`;
  const bad = { duplicates, losses, contradictions, wrong };
  const counts = Object.entries(bad).map(([what, found]) => `${what} ${found.length}`);
  const details = Object.values(bad).flat().slice(0, 5);
  return [
    `${name}: ${JSON.stringify(phases)}, ${taken} paid, ${calls} calls, ${faults} faults, polls at most ${longestPause} apart, comparisons at most ${report.comparisonMs} ms`,
    ...(report.lingering.length === 0 ? [] : [`last: ${report.lingering.slice(0, 2).join(", ")}`]),
    `settled after ${Math.round(settledAfterMs / 1_000)} s; ${counts.join(", ")}${details.map((line) => `\n    ${line}`).join("")}`,
  ].join("; ");
}

const only = process.env["MOORING_CAMPAIGN_ONLY"];

it.runIf(!LONG).concurrent.for([1, 2, 3])(
  `${SIZE.jobs} jobs and ${SIZE.endpoints} endpoints with random combination %i of the simulator's switches, and a kill`,
  { timeout: 400_000 },
  async (index, { expect: _expect }) => {
    const seed = SEED + index;
    const report = await runCombination(drawCombination(seed), { ...SIZE, seed });
    console.log([lineOf(report), ...report.evidence].join("\n"));
    expectGood(report);
  },
);

it.runIf(LONG)(
  `${SIZE.jobs} jobs and ${SIZE.endpoints} endpoints with each switch, and with random combinations`,
  {
    timeout: SECONDS * 1_000 + 900_000,
  },
  async () => {
    const end = performance.now() + SECONDS * 1_000;
    const fixed: Switch[][] = SWITCHES.filter(({ name }) => only === undefined || name === only).map((one) => [one]);
    const reports: RunReport[] = [];
    let next = 0;
    const errors: Error[] = [];
    const work = async () => {
      while (performance.now() < end) {
        const index = next++;
        const seed = SEED + index;
        const switches = fixed[index] ?? (only === undefined ? drawCombination(seed) : (fixed[0] ?? []));
        const report = await runCombination(switches, { ...SIZE, seed }).catch((cause: unknown) => {
          const names = switches.map(({ name }) => name).join(" + ");
          errors.push(new Error(`${index} (seed ${seed}) ${names} did not run to its end: ${cause}`, { cause }));
        });
        if (report === undefined) continue;
        reports.push(report);
        process.stderr.write([`${index} (seed ${seed}) ${lineOf(report)}`, ...report.evidence, ""].join("\n"));
      }
    };
    await Promise.all(Array.from({ length: PARALLEL }, work));
    process.stderr.write(`${summaryOf(reports)}${reports.reduce((sum, { calls }) => sum + calls, 0)} calls\n`);
    if (errors.length > 0) throw new AggregateError(errors, errors.map(({ message }) => message).join("\n"));
    for (const report of reports) expectGood(report);
  },
);
