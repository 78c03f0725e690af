import { describe, expect, it } from "vitest";
import type { ObjectPlan, Plan } from "./scenario/plan.ts";
import { runPlan } from "./scenario/run.ts";

const JOB: ObjectPlan = { serial: 0, kind: "VideoJob", namespace: "team-a", name: "job-0", at: 10_000 };
/** Its first task fails, and the second one ends 60 s after its creation. */
const RETRIED: ObjectPlan = { ...JOB, fails: true, backoffLimit: 1 };
/** The journal has the intent of the first request then, and for two seconds. */
const INTENT_AT = 10_500;

/** A job, and a loss of the whole journal after which the operator sends nothing. */
function planWith(job: ObjectPlan, loss: { at: number; restoredMs?: number }): Plan {
  return {
    seed: 1,
    replicas: 1,
    streamingLists: true,
    generation: "Current",
    listDelayMs: 0,
    duplicateAppName: "Refuse",
    maxConcurrentTasks: undefined,
    budgetTasks: undefined,
    objects: [job],
    actions: [],
    faults: [{ fault: "loseJournal", shard: "All", ...loss }],
    chaosMs: 120_000,
  };
}

describe("an operator that sends nothing does not notice the loss of its journal. After its next start, everything is stable", () => {
  it.each([
    { what: "the journal is deleted", job: JOB, loss: { at: 40_000 }, requests: 1 },
    { what: "the journal is restored empty", job: JOB, loss: { at: 40_000, restoredMs: 1_000 }, requests: 1 },
    {
      what: "the journal is restored with the intent of a request whose outcome the status shows",
      job: JOB,
      loss: { at: INTENT_AT, restoredMs: 5_000 },
      requests: 1,
    },
    {
      what: "the journal is restored with the intent of an earlier attempt",
      job: RETRIED,
      loss: { at: INTENT_AT, restoredMs: 100_000 },
      requests: 2,
    },
  ])("$what", async ({ job, loss, requests }) => {
    const { violation, starts, paid } = await runPlan(planWith(job, loss));
    expect(violation).toBeUndefined();
    expect({ starts, paid }).toEqual({ starts: 2, paid: requests });
  });
});
