import { expect, it } from "vitest";
import { type Plan, planOf } from "./scenario/plan.ts";
import { runPlan } from "./scenario/run.ts";

it.each([
  { seed: 31, what: "the API server is away for longer than the lease lasts" },
  { seed: 38, what: "the API server is not away, and the version is raised" },
  { seed: 127, what: "the snapshot is some seconds old" },
  { seed: 141, what: "the operator keeps its lease" },
  { seed: 535, what: "the restored lease is that of an earlier process" },
  { seed: 562, what: "an active process and one that stands by notice it" },
])("$what: nothing older is sent until the restore is confirmed (seed $seed)", async ({ seed }) => {
  const plan = planOf(seed);
  expect(plan.faults.some(({ fault }) => fault === "restoreEtcd")).toBe(true);
  const { violation } = await runPlan(plan);
  expect(violation).toBeUndefined();
});

/** A job that is paid for after the snapshot. The operator does not run while etcd is restored. */
function planWith({ bump, isSecret }: { bump: number; isSecret: boolean }): Plan {
  return {
    ...planOf(1),
    replicas: 1,
    maxConcurrentTasks: undefined,
    budgetTasks: undefined,
    batches: [],
    actions: [],
    objects: [{ serial: 0, kind: "VideoJob", namespace: "team-a", name: "job-0", at: 30_000 }],
    faults: [
      { at: 30_010, fault: "restoreEtcd", behindMs: 60_000, downMs: 0, bump, isSecret },
      { at: 85_000, fault: "crash", process: 0, downMs: 20_000 },
    ],
    chaosMs: 180_000,
  };
}

it("an operator that starts after the restore notices a raised version", async () => {
  const { violation } = await runPlan(planWith({ bump: 1_000_000_000, isSecret: true }));
  expect(violation).toBeUndefined();
});

it("an operator that starts after the restore cannot notice it otherwise (docs/how-to/recovery.md)", async () => {
  const { violation } = await runPlan(planWith({ bump: 0, isSecret: true }));
  expect(violation?.invariant).toMatch(/^(PaidOnce|RestoreConfirmed)$/);
});

it("an operator that starts after the restore sends nothing for older objects when an administrator announced it", async () => {
  const { violation } = await runPlan(planWith({ bump: 0, isSecret: false }));
  expect(violation).toBeUndefined();
});
