import type { SeedReport } from "../report.ts";
import { failingTest } from "./failing-test.ts";
import { type Mutant, mutated, sourceOf } from "./mutant.ts";

/** Simulates seeds until one fails. */
export type Simulate = (mutant: string) => Promise<SeedReport[]>;

/**
 * Prints for each guard what notices that it is disabled: seeds of the simulation, a test, or both. Returns the number of
 * guards that nothing notices.
 */
export async function printTable(mutants: readonly Mutant[], simulate: Simulate): Promise<number> {
  for (const mutant of mutants) mutated(mutant, sourceOf(mutant));
  let unnoticed = 0;
  console.log("| guard | simulation reports | seeds | test that fails |\n|---|---|---|---|");
  for (const mutant of mutants) {
    const reports = mutant.breaks === undefined ? [] : await simulate(mutant.name);
    const found = reports.find(({ violation }) => violation !== undefined)?.violation?.invariant;
    const test = mutant.tests === undefined ? undefined : await testWithout(mutant.name, mutant.tests);
    const { integration } = mutant;
    const isNoticed = found !== undefined || test !== undefined;
    if (!isNoticed && integration === undefined) unnoticed += 1;
    const seeds = reports.length === 0 ? "" : found === undefined ? `none in ${reports.length}` : `${reports.length}`;
    const other = integration === undefined ? "**nothing notices it**" : `not run here: ${integration}`;
    const shown = test ?? (isNoticed ? "" : other);
    console.log(`| ${mutant.name} | ${found ?? ""} | ${seeds} | ${shown.replaceAll("|", "\\|")} |`);
  }
  return unnoticed;
}

/** A unit or component test that fails without the guard. `filter`: a part of their paths, as it is in test/unit. */
async function testWithout(guard: string, filter: string): Promise<string | undefined> {
  const failing = await failingTest(guard, [filter.replace(/^test\/unit/, "")]);
  if (failing === undefined || failing.includes(" > ")) return failing?.replace(/^test\//, "");
  throw new Error(`guard ${guard}: no test ran to its end: ${failing}`);
}
