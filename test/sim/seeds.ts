import { expect } from "vitest";
import { type Plan, planOf } from "./scenario/plan.ts";
import { runPlan } from "./scenario/run.ts";

/** Runs seeds until one fails or the time is up; at least one. `change`: of each plan. */
export async function expectHolds(
  from: number,
  count: number,
  budgetMs: number,
  change: Partial<Plan> = {},
): Promise<void> {
  const began = performance.now();
  let crashes = 0;
  let ran = 0;
  for (let seed = from; seed < from + count && (ran === 0 || performance.now() - began < budgetMs); seed++) {
    const result = await runPlan({ ...planOf(seed), ...change }, seed % 4 === 0 ? { logLevel: "debug" } : {});
    const { violation, lastLines } = result;
    const command = `npm run test:sim -- --from ${seed} --seeds 1`;
    expect({ seed, command, violation, trace: violation && lastLines.slice(-20) }).toEqual({ seed, command });
    crashes += result.crashes;
    ran += 1;
  }
  console.log(`${ran} seeds from ${from}, ${crashes} crashes`);
  expect(ran).toBeGreaterThan(0);
}
