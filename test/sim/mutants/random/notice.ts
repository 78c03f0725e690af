import { join } from "node:path";
import { createInterface } from "node:readline";
import { endOf, failingTest, killGroup, startWith } from "../failing-test.ts";
import { type Mutant, ROOT } from "../mutant.ts";
import type { Reach } from "./reach.ts";

/** What noticed a mutant: a test, an invariant. Undefined: nothing. */
export type Noticed = string | undefined;
export type Verdict = { unit: Noticed; component: Noticed; simulation: Noticed };

/** Most mutants end with the tests that are nearest to their file. */
const NEAREST = 6;
/** Of the simulation, these notice the most. */
const RECORDED = "test/sim/day/";

/** The simulation runs beside the tests. Component tests run when no unit test notices the mutant: they take longer. */
export async function verdictOn(mutant: Mutant, { tests, seeds }: Reach): Promise<Verdict> {
  const name = JSON.stringify(mutant);
  const of = (...folders: string[]) =>
    tests.filter((test) => folders.some((folder) => test.startsWith(`test/${folder}/`)));
  const failing = async (some: string[]) => (some.length === 0 ? undefined : failingTest(name, some));
  const byTests = async () => {
    const units = of("unit");
    const unit = (await failing(units.slice(0, NEAREST))) ?? (await failing(units.slice(NEAREST)));
    return {
      unit,
      component: unit === undefined ? await failing(of("component", "security", "integration")) : undefined,
    };
  };
  const simulated = of("sim", "fuzz");
  const bySimulation = async () =>
    (await failing(simulated.filter((test) => test.startsWith(RECORDED)))) ??
    (await violation(name, seeds)) ??
    (await failing(simulated.filter((test) => !test.startsWith(RECORDED))));
  const [noticed, simulation] = await Promise.all([byTests(), bySimulation()]);
  return { ...noticed, simulation };
}

async function violation(mutant: string, seeds: readonly number[]): Promise<Noticed> {
  if (seeds.length === 0) return undefined;
  const worker = join(ROOT, "test/sim/worker.ts");
  const child = startWith(mutant, [worker, "--seeds", seeds.join(","), "--mutant", mutant]);
  let found: Noticed;
  const ended = endOf(child);
  for await (const line of createInterface({ input: child.stdout })) {
    const report: { seed: number; violation?: { invariant: string } } = JSON.parse(line);
    if (report.violation === undefined) continue;
    found ??= `${report.violation.invariant} (seed ${report.seed})`;
    killGroup(child);
  }
  return found ?? (await ended);
}
