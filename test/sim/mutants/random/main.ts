/**
 * `npm run test:full -- --only mutants`: changes random places of the core, one at a time, and tells what notices it: the unit or
 * component tests, a short simulation, both, or nothing.
 *
 * --rows N       how many, default 60
 * --seed N       selects other places
 * --select NAMES only these, as the table shows them, separated by commas
 */
import { type Mutation, OPERATORS } from "./mutations.ts";
import { noticedBySimulation, noticedByTests } from "./notice.ts";
import { mutationNamed, sampleOf } from "./sample.ts";

/** Simulated for each mutant. */
const SEEDS = 10;
/** About an eighth of random mutants change nothing that can be seen. */
const MOST_UNNOTICED = 0.2;

const { MOORING_MUTANTS_ROWS: rows = "60", MOORING_MUTANTS_SEED: seed = "1", MOORING_MUTANTS_ONLY: only } = process.env;
const mutations = only === undefined ? sampleOf(Number(rows), Number(seed)) : only.split(",").map(mutationNamed);

/** Changes nothing: what fails without a mutant would notice each. */
const NONE = { name: "none", file: "src/base/clock.ts", find: "", replace: "", at: 0 };
const failing = (await noticedByTests(NONE)) ?? (await noticedBySimulation(NONE, SEEDS));
if (failing !== undefined) throw new Error(`fails without a mutant: ${failing}`);

console.log("| mutant | becomes | test | simulation |\n|---|---|---|---|");
const results: { mutation: Mutation; byTest: boolean; bySimulation: boolean }[] = [];
for (const mutation of mutations) {
  const test = await noticedByTests(mutation);
  const simulation = await noticedBySimulation(mutation, SEEDS);
  results.push({ mutation, byTest: test !== undefined, bySimulation: simulation !== undefined });
  const cells = [mutation.name, `${shown(mutation.find)} → ${shown(mutation.replace)}`, test ?? "", simulation ?? ""];
  console.log(`| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`);
}

const share = (count: number, of: number) => `${count} of ${of} (${Math.round((100 * count) / Math.max(1, of))} %)`;
for (const operator of [...OPERATORS, undefined]) {
  const of = results.filter(({ mutation }) => operator === undefined || mutation.operator === operator);
  if (of.length === 0) continue;
  const noticed = of.filter(({ byTest, bySimulation }) => byTest || bySimulation);
  const simulated = of.filter(({ bySimulation }) => bySimulation);
  console.log(
    `${operator ?? "all"}: ${share(noticed.length, of.length)}, by the simulation ${share(simulated.length, of.length)}`,
  );
}

const unnoticed = results.filter(({ byTest, bySimulation }) => !byTest && !bySimulation);
if (unnoticed.length > MOST_UNNOTICED * results.length) process.exitCode = 1;

function shown(text: string): string {
  const line = text.replaceAll(/\s+/g, " ");
  return line.length > 90 ? `${line.slice(0, 89)}…` : line;
}
