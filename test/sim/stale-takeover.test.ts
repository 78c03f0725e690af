import { expect, it } from "vitest";
import type { ObjectPlan } from "./scenario/objects.ts";
import type { Plan } from "./scenario/plan.ts";
import { runPlan } from "./scenario/run.ts";

const JOB: ObjectPlan = {
  serial: 0,
  kind: "SpeechJob",
  namespace: "team-a",
  name: "job-0",
  at: 10_000,
  synchronous: true,
};
const ENDPOINT: ObjectPlan = { serial: 0, kind: "GpuEndpoint", namespace: "team-a", name: "ep-0", at: 10_000 };

/** The operator ends at a time. For 40 s, the lists of the next one show the state of an earlier time. */
function planWith(
  object: ObjectPlan,
  { listsFrom, endsAt }: { listsFrom: number; endsAt: number },
  change: Partial<Plan> = {},
): Plan {
  const stale = { fault: "staleState", process: 0, behindMs: endsAt - listsFrom, downMs: 100, forMs: 40_000 } as const;
  return {
    seed: 1,
    replicas: 1,
    spares: 0,
    streamingLists: true,
    generation: "Current",
    listDelayMs: 59_000,
    duplicateAppName: "Accept",
    maxConcurrentTasks: undefined,
    budgetTasks: undefined,
    objects: [object],
    actions: [],
    chaosMs: 120_000,
    ...change,
    faults: [{ ...stale, at: listsFrom }, ...(change.faults ?? [])],
  };
}

it.each([
  { object: JOB, endsAt: 10_140 },
  { object: ENDPOINT, endsAt: 10_980 },
])(
  "given a $object.kind whose request is under way when the operator ends, the next one, whose lists lack the object, keeps the record",
  async ({ object, endsAt }) => {
    const { violation, starts } = await runPlan(planWith(object, { listsFrom: 9_900, endsAt }));
    expect(violation).toBeUndefined();
    expect(starts).toBe(2);
  },
);

it("given an endpoint whose deletion the operator completed before it ended, the next one, whose lists show the object, does not scale it up", async () => {
  const times = { listsFrom: 59_900, endsAt: 60_200 };
  const { violation, starts } = await runPlan(
    planWith({ ...ENDPOINT, at: 1_000, deletionPolicy: "ScaleToZero" }, times, {
      listDelayMs: 0,
      actions: [{ do: "delete", serial: 0, at: 60_000 }],
      // The next lists do not show the deletion either: the object is just not there any more.
      faults: [{ fault: "compact", at: 90_000 }],
    }),
  );
  expect(violation).toBeUndefined();
  expect(starts).toBe(2);
});
