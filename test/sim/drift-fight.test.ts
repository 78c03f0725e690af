import { expect, it } from "vitest";
import { type Action, type Plan, planOf, type Timed } from "./scenario/plan.ts";
import { runPlan } from "./scenario/run.ts";

/** With this seed, another client scales the endpoint once more after the faults. */
const SEED = 6;
const CHAOS_MS = 300_000;
/** When a user first looks at what the conditions ask for, at the earliest: the recovery and the changes take so long. */
const USER_LOOKS_AT_MS = CHAOS_MS + 150_000 + 90_000;

/** Another client changes the workers of an endpoint so often that Mooring does not send the fourth update. */
function foughtOver(suspend: boolean): Plan {
  const calm = {
    ...planOf(SEED),
    replicas: 1,
    listDelayMs: 0,
    batches: [],
    faults: [],
    budgetTasks: undefined,
    chaosMs: CHAOS_MS,
  };
  // The suspension is the first update that the other client reverts.
  const suspension: Timed<Action>[] = suspend ? [{ at: 30_000, do: "suspend", serial: 0, suspend }] : [];
  const times = suspend ? [120_000, 180_000] : [60_000, 120_000, 180_000];
  const scaled = times.map((at): Timed<Action> => ({ at, do: "remoteScale", serial: 0, max: 9 }));
  return {
    ...calm,
    objects: [{ serial: 0, kind: "GpuEndpoint", namespace: "team-a", name: "ep-0", at: 1_000 }],
    actions: [...suspension, ...scaled],
  };
}

it.each([
  ["a running", false],
  ["a suspended", true],
])(
  "%s endpoint whose workers another client keeps changing shows it until a user requests a reconcile",
  async (_state, suspend) => {
    const updates: number[] = [];
    const onTrace = (line: string) => {
      if (line.includes("service updateEndpoint")) updates.push(Number.parseFloat(line));
    };
    const { violation } = await runPlan(foughtOver(suspend), { onTrace });
    expect(violation).toBeUndefined();
    expect(updates).toHaveLength(4);
    expect(updates[3]).toBeGreaterThan(USER_LOOKS_AT_MS);
  },
);
