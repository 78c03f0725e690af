import { expect, it } from "vitest";
import type { ObjectPlan } from "./scenario/objects.ts";
import { type Plan, planOf } from "./scenario/plan.ts";
import { runPlan } from "./scenario/run.ts";

const CREATED_AT = 20_000;
const objects: ObjectPlan[] = (["GpuEndpoint", "VideoJob", "SpeechJob", "GpuEndpoint"] as const).map(
  (kind, serial) => ({
    serial,
    kind,
    namespace: "team-a",
    name: `object-${serial}`,
    at: CREATED_AT,
    ...(serial === 3 ? { deletionPolicy: "Delete" } : {}),
  }),
);

function planWith(replicas: number, account: { at: number; forMs?: number; againMs?: number }): Plan {
  const plan = planOf(1);
  return {
    ...plan,
    replicas,
    objects,
    batches: [],
    budgetTasks: undefined,
    maxConcurrentTasks: undefined,
    duplicateAppName: "Accept",
    actions: [{ at: 120_000, do: "delete", serial: 3 }],
    faults: [{ fault: "defaultAccount", namespace: "team-a", ...account }],
    chaosMs: 180_000,
  };
}

/** Without a key of another member at the shared account, so an object has one endpoint and one payment among all accounts. */
it.each([
  { what: "appears before the objects", at: 10_000 },
  { what: "appears with the objects", at: CREATED_AT },
  { what: "appears while they are first used", at: CREATED_AT + 150 },
  { what: "appears while requests are under way", at: CREATED_AT + 600 },
  { what: "appears when they are bound", at: 60_000 },
  { what: "appears when they are bound, and vanishes", at: 60_000, forMs: 30_000 },
  { what: "vanishes while they are first used", at: 10_000, forMs: 10_150, againMs: 40_000 },
  { what: "vanishes while requests are under way", at: 10_000, forMs: 10_600, againMs: 40_000 },
  { what: "vanishes while requests are answered", at: 10_000, forMs: 12_000, againMs: 40_000 },
])("objects stay with their account when a default account $what", async ({ what: _, ...account }) => {
  for (const replicas of [1, 2]) {
    const result = await runPlan(planWith(replicas, account));
    expect(result.violation).toBeUndefined();
    expect({ paid: result.paid }).toEqual({ paid: 2 });
  }
});
