import { expect, it } from "vitest";
import type { ObjectPlan } from "./scenario/objects.ts";
import type { Plan } from "./scenario/plan.ts";
import { runPlan } from "./scenario/run.ts";

const objects = [0, 1, 2, 3, 4, 5].map((serial): ObjectPlan => {
  const at = serial < 2 ? 10_000 : 10_020;
  return { serial, kind: "VideoJob", namespace: "team-a", name: `job-${serial}`, at };
});

/** Two tasks may run. While half of the writes to the API server fail, the operator ends. */
function planOf(seed: number, endsAt: number): Plan {
  const errors = { kinds: ["errorBefore" as const], share: 0.5, writesOnly: true, forMs: 15_000 };
  return {
    seed,
    replicas: 1,
    spares: 0,
    streamingLists: true,
    generation: "Current",
    listDelayMs: 0,
    duplicateAppName: "Refuse",
    maxConcurrentTasks: 2,
    budgetTasks: undefined,
    objects,
    actions: [],
    faults: [
      { fault: "requests", of: "api", ...errors, at: 10_100 },
      { fault: "crash", process: 0, at: endsAt, downMs: 100 },
    ],
    chaosMs: 40_000,
  };
}

// Without places for the tasks that no status shows yet, each of these runs has a third task.
it.each([
  [4, 11_000],
  [22, 10_800],
  [41, 10_700],
  [79, 12_500],
])(
  "an accepted task that the status does not show yet has its place after a restart (seed %s)",
  async (seed, endsAt) => {
    const { violation, starts } = await runPlan(planOf(seed, endsAt));
    expect(violation).toBeUndefined();
    expect(starts).toBe(2);
  },
);
