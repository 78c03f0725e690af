/**
 * `npm run test:full -- --only mutants`: changes random places of the core, one at a time, and tells what notices it: the unit tests,
 * else the component tests, and a short simulation. Only tests and seeds in which the place runs see a mutant.
 *
 * --rows N       how many, default 64
 * --seed N       selects other places
 * --select NAMES only these, as the table shows them, separated by commas
 */
import { isEquivalent } from "./equivalent.ts";
import { type Mutation, OPERATORS } from "./mutations.ts";
import { type Verdict, verdictOn } from "./notice.ts";
import { reachOf } from "./reach.ts";
import { mutationsNamed, sampleOf } from "./sample.ts";

/** Simulated for each mutant. */
const SEEDS = Array.from({ length: 10 }, (_, index) => index + 1);
/** Of the mutants that are not equivalent. */
const LEAST_NOTICED = 0.92;
const LEAST_SIMULATED = 1 / 3;

const { MOORING_MUTANTS_ROWS: rows = "64", MOORING_MUTANTS_SEED: seed = "1", MOORING_MUTANTS_ONLY: only } = process.env;
const mutations = only === undefined ? sampleOf(Number(rows), Number(seed)) : mutationsNamed(only.split(","));
const reaches = await reachOf(mutations, SEEDS);

console.log("| mutant | becomes | unit or component test | simulation |\n|---|---|---|---|");
const results: { mutation: Mutation; byTest: boolean; bySimulation: boolean; byUnit: boolean }[] = [];
for (const [index, mutation] of mutations.entries()) {
  const reach = reaches[index];
  if (reach === undefined) continue;
  const verdict = isEquivalent(mutation) ? undefined : await verdictOn(mutation, reach);
  console.log(rowOf(mutation, verdict));
  if (verdict === undefined) continue;
  const { unit, component, simulation } = verdict;
  const byUnit = unit !== undefined;
  results.push({
    mutation,
    byUnit,
    byTest: byUnit || component !== undefined,
    bySimulation: simulation !== undefined,
  });
}

for (const operator of [...OPERATORS, undefined]) {
  const of = results.filter(({ mutation }) => operator === undefined || mutation.operator === operator);
  if (of.length === 0) continue;
  const shares = {
    noticed: shareOf(of, ({ byTest, bySimulation }) => byTest || bySimulation),
    "by unit tests": shareOf(of, ({ byUnit }) => byUnit),
    "by unit or component tests": shareOf(of, ({ byTest }) => byTest),
    "by the simulation": shareOf(of, ({ bySimulation }) => bySimulation),
  };
  const words = Object.entries(shares).map(
    ([by, share]) => `${by} ${Math.round(share * of.length)} (${Math.round(100 * share)} %)`,
  );
  console.log(`${operator ?? "all"}: ${of.length}; ${words.join(", ")}`);
  const isEnough = shares.noticed >= LEAST_NOTICED && shares["by the simulation"] >= LEAST_SIMULATED;
  if (operator === undefined && !isEnough) process.exitCode = 1;
}

function shareOf<T>(of: readonly T[], has: (one: T) => boolean): number {
  return of.filter(has).length / of.length;
}

function rowOf({ name, find, replace }: Mutation, verdict: Verdict | undefined): string {
  const { unit, component, simulation } = verdict ?? {};
  const test = verdict === undefined ? "equivalent" : (unit ?? component ?? "");
  const cells = [name, `${shown(find)} → ${shown(replace)}`, test, simulation ?? ""];
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
}

function shown(text: string): string {
  const line = text.replaceAll(/\s+/g, " ");
  return line.length > 90 ? `${line.slice(0, 89)}…` : line;
}
