import { expect } from "vitest";
import { createSemaphore } from "../../src/base/semaphore.ts";
import { complaints, unsettled } from "./judge.ts";
import { type Perturbation, type Run, runScenario } from "./run.ts";
import type { Scenario } from "./scenario.ts";
import { FULL, PARALLEL, sampleOf } from "./scope.ts";

/** Scenarios share the operators that run at once. */
const operators = createSemaphore({ capacity: PARALLEL });

export const LONGEST_MS = FULL ? 3_600_000 : 300_000;

/** A perturbation with its name in reports. */
export type Disturbance = Perturbation & { name: string };

/**
 * Runs a scenario undisturbed, then once for each of the disturbances that `disturbancesOf` derives from it. Prints the figures, and
 * fails for a run that breaks an oracle.
 */
export async function runDisturbed(
  scenario: Scenario,
  disturbancesOf: (reference: Run) => Disturbance[],
): Promise<void> {
  const inTurn = async <T>(work: () => Promise<T>): Promise<T> => {
    const giveBack = await operators.take(scenario.name, 1, new AbortController().signal);
    return work().finally(giveBack);
  };
  const reference = await inTurn(() => runScenario(scenario));
  expect(reference.failure, scenario.name).toBe("");

  const disturb = async (disturbance: Disturbance) => {
    const began = performance.now();
    const run = await runScenario(scenario, disturbance, (outcome, { released }) =>
      unsettled(reference.outcome, outcome, released),
    );
    const wrong = complaints(reference, run);
    const halted = run.released > 0 ? ", halted and released" : run.letGo > 0 ? ", blocked and let go" : "";
    const verdict = wrong.length > 0 ? wrong.join("\n    ") : `passed${run.reached ? "" : " (not reached)"}${halted}`;
    const seconds = Math.round((performance.now() - began) / 1_000);
    process.stderr.write(`${scenario.name}: ${disturbance.name}: ${verdict} (${seconds} s)\n`);
    return { name: disturbance.name, run, wrong };
  };
  const chosen = sampleOf(scenario.name, disturbancesOf(reference));
  const runs = await Promise.all(chosen.map((one) => inTurn(() => disturb(one))));

  const missed = runs.filter(({ run }) => !run.reached).map(({ name }) => name);
  const released = runs.filter(({ run }) => run.released > 0).length;
  const letGo = runs.filter(({ run }) => run.letGo > 0).length;
  console.log(
    `${scenario.name}: ${reference.writes.length} writes, ${reference.events.length} watch events, ${runs.length} disturbed runs, ` +
      `${runs.length - missed.length} reached, ${released} halted and released, ${letGo} blocked and let go${missed.length === 0 ? "" : `; not reached: ${missed.join(", ")}`}`,
  );
  const failed = runs.filter(({ wrong }) => wrong.length > 0);
  expect(failed.map(({ name, wrong, run }) => [name, ...wrong, lastOf(run.log)].join("\n")).join("\n\n")).toBe("");
}

/** The last lines that the operators logged. */
function lastOf(log: string): string {
  return log.split("\n").slice(-40).join("\n");
}
