import { expect, it } from "vitest";
import type { Plan } from "./scenario/plan.ts";
import { planOf } from "./scenario/plan.ts";
import { runPlan } from "./scenario/run.ts";
import { shrink, sizeOf } from "./scenario/shrink.ts";

it("a seed replays exactly, with and without logs", async () => {
  const first = await runPlan(planOf(3));
  const again = await runPlan(planOf(3), { logLevel: "debug" });
  expect({ digest: again.digest, steps: again.steps }).toEqual({ digest: first.digest, steps: first.steps });
  const other = await runPlan(planOf(4));
  expect(other.digest).not.toBe(first.digest);
});

it("a failing plan shrinks to the parts that the failure needs", async () => {
  const plan = planOf(2);
  const [needed] = plan.objects;
  const last = plan.faults.at(-1);
  const stillFails = async ({ objects, faults }: Plan) =>
    objects.some(({ serial }) => serial === needed?.serial) && faults.some(({ at }) => at === last?.at);
  const { plan: smallest } = await shrink(plan, stillFails, 1_000);
  expect(sizeOf(plan)).toBeGreaterThan(10);
  expect(smallest.objects).toEqual([needed]);
  expect(smallest.faults).toEqual([last]);
  expect(smallest.actions).toEqual([]);
});
