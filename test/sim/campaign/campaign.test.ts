import { expect, it } from "vitest";
import { type RunOptions, type RunReport, runCombination } from "./run.ts";
import { drawCombination, SWITCHES, type Switch } from "./switches.ts";

/**
 * `npm run test:full` runs some switches and random combinations with few jobs, `npm run test:sim -- campaign` each switch and as many
 * combinations with 200 jobs. --jobs, --endpoints, --kills and --seed change it, --select names a switch.
 */
const text = (name: string) => process.env[`MOORING_CAMPAIGN${name}`];
const number = (name: string, value: number) => Number(text(`_${name}`) ?? value);
const IS_FULL = text("") === "1";
const SEED = number("SEED", 1);
const ONLY = text("_ONLY");
const SIZE: Omit<RunOptions, "seed"> = {
  jobs: number("JOBS", IS_FULL ? 200 : 40),
  endpoints: number("ENDPOINTS", IS_FULL ? 50 : 10),
  kills: number("KILLS", IS_FULL ? 2 : 1),
  arrivalMs: IS_FULL ? 15_000 : 6_000,
};
/** Of so many, the short form runs one. */
const ONE_OF = 8;

const single = SWITCHES.map((one): Switch[] => [one]);
const drawn = SWITCHES.map((_, index) => drawCombination(SEED + index));
const runs = [...single, ...drawn].flatMap((switches, index) => {
  const name = switches.map((one) => one.name).join(" + ");
  const isChosen = ONLY === undefined ? IS_FULL || index % ONE_OF === 0 : name === ONLY;
  return isChosen ? [{ name, switches, seed: SEED + index }] : [];
});

it.each(runs)(
  `${SIZE.jobs} jobs and ${SIZE.endpoints} endpoints with $name, and a kill`,
  async ({ switches, seed }) => {
    const report = await runCombination(switches, { ...SIZE, seed });
    console.log(lineOf(report));
    const { name, duplicates, losses, contradictions, wrong } = report;
    const good = { duplicates: [], losses: [], contradictions: [], wrong: [] };
    expect({ duplicates, losses, contradictions, wrong }, name).toEqual(good);
  },
);

function lineOf({ name, phases, taken, calls, faults, settledAfterMs }: RunReport): string {
  const seconds = Math.round(settledAfterMs / 1_000);
  return `${name}: ${JSON.stringify(phases)}, ${taken} paid, ${calls} calls, ${faults} faults, settled after ${seconds} s`;
}
