import { expect, it } from "vitest";
import { complaints, unsettled } from "./judge.ts";
import { describePoint, type Perturbation } from "./points.ts";
import { type Run, runScenario } from "./run.ts";
import type { Scenario } from "./scenario.ts";
import { SCENARIOS } from "./scenarios.ts";

/** `npm run test:sim -- perturbation --select NAMES`: scenarios by parts of their names, separated by commas. */
const selected = process.env["MOORING_PERTURB_ONLY"]?.split(",");

type Disturbance = Perturbation & { name: string };

/** Each kind of perturbation, and what it is for an undisturbed run. */
const KINDS: Record<string, (reference: Run) => Disturbance[]> = {
  "a crash before and after each write": ({ writes }) =>
    writes.flatMap((write) =>
      (["before", "after"] as const).map((moment) => {
        const crash = { ...write, moment };
        return { name: describePoint(crash), crash };
      }),
    ),
  "a restart with stale state after each write": ({ writes }) =>
    writes.map((write) => {
      const crash = { ...write, moment: "after" as const };
      return { name: `stale ${describePoint(crash)}`, crash, stale: true as const };
    }),
  "each watch event missed in turn": ({ events }) =>
    events.map((missed) => ({ name: `without ${missed.name} #${missed.occurrence}`, missed })),
};

const inScope = ({ name }: Scenario) => selected === undefined || selected.some((part) => name.includes(part));

it.each(SCENARIOS.filter(inScope))(
  "$name: the outcome is the same, whatever disturbs the operator",
  async (scenario) => {
    const reference = await runScenario(scenario);
    expect(reference.failure, scenario.name).toBe("");
    const found: string[] = [];
    for (const [kind, disturbancesOf] of Object.entries(KINDS)) {
      const disturbances = disturbancesOf(reference);
      const figures = { reached: 0, released: 0, letGo: 0 };
      for (const { name, ...perturbation } of disturbances) {
        const run = await runScenario(scenario, perturbation, (outcome, { released }) =>
          unsettled(reference.outcome, outcome, released),
        );
        if (run.reached) figures.reached += 1;
        if (run.released > 0) figures.released += 1;
        if (run.letGo > 0) figures.letGo += 1;
        const wrong = complaints(reference, run);
        if (wrong.length > 0) found.push([name, ...wrong, lastOf(run.log)].join("\n"));
      }
      console.log(
        `${scenario.name}, ${kind}: ${disturbances.length} runs, ${figures.reached} reached, ` +
          `${figures.released} halted and released, ${figures.letGo} blocked and let go`,
      );
    }
    expect(found.join("\n\n")).toBe("");
  },
);

/** The last lines that the operators logged. */
function lastOf(log: string): string {
  return log.split("\n").slice(-40).join("\n");
}
