import { describe, expect, it } from "vitest";
import { createScheduler, RunawayError } from "./engine/scheduler.ts";
import type { Plan } from "./scenario/plan.ts";
import { planOf } from "./scenario/plan.ts";
import { runPlan } from "./scenario/run.ts";
import { shrink, sizeOf } from "./scenario/shrink.ts";

describe("a seed replays exactly", () => {
  it.each([3, 8, 15, 51, 1069])("seed %i has the same trace, with and without logs", async (seed) => {
    const traces: string[][] = [[], []];
    const first = await runPlan(planOf(seed), { onTrace: (line) => traces[0]?.push(line) });
    const again = await runPlan(planOf(seed), { onTrace: (line) => traces[1]?.push(line), logLevel: "debug" });
    const [before = [], after = []] = traces;
    const differs = before.findIndex((line, i) => line !== after[i]);
    expect(after.slice(differs, differs + 3)).toEqual(before.slice(differs, differs + 3));
    expect({ digest: again.digest, steps: again.steps }).toEqual({ digest: first.digest, steps: first.steps });
  });

  it("another seed has another trace", async () => {
    const [one, other] = await Promise.all([runPlan(planOf(3)), runPlan(planOf(4))]);
    expect(other.digest).not.toBe(one.digest);
  });
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

it("an event that repeats itself without a pause ends, and so does the run", async () => {
  const scheduler = createScheduler(1);
  const runaway = Promise.withResolvers<unknown>();
  const repeat = async () => {
    for (;;) await scheduler.after(0, () => {});
  };
  scheduler.after(0, () => void repeat().catch(runaway.resolve));
  await scheduler.step(0);
  expect(await runaway.promise).toBeInstanceOf(RunawayError);
});
