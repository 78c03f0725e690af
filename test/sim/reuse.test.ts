import { describe, expect, it } from "vitest";
import type { ObjectPlan } from "./scenario/objects.ts";
import { type Plan, planOf } from "./scenario/plan.ts";
import { runPlan } from "./scenario/run.ts";

const MINUTE_MS = 60_000;
const job = { serial: 0, kind: "SpeechJob", namespace: "team-a", stored: true, reuse: true } as const;

/** A job that comes again and again after its TTL, and others that come at the same time. */
function planWith(change: Partial<ObjectPlan>, faults: Plan["faults"]): Plan {
  const calm = { budgetTasks: undefined, maxConcurrentTasks: undefined, batches: [], actions: [] };
  const objects: ObjectPlan[] = [
    { ...job, ...change, name: "again", at: 20_000, ttlSeconds: 20 },
    ...[20_000, 20_000, 20_100, 24_000].map((at, i) => ({ ...job, ...change, name: `twin-${i}`, at })),
  ];
  return { ...planOf(1), ...calm, objects, faults, chaosMs: 5 * MINUTE_MS };
}

describe("jobs with the same request pay for it once", () => {
  it.each<[string, Partial<ObjectPlan>]>([
    ["audio in the response", { synchronous: true }],
    ["audio of a task", {}],
    ["a video", { kind: "VideoJob" }],
  ])("%s", async (_, change) => {
    const { violation, paid } = await runPlan(planWith(change, []));
    expect(violation).toBeUndefined();
    expect(paid).toBe(1);
  });

  it("when the operator crashes again and again, and the store breaks off", async () => {
    const crashes = [22_000, 26_000, 31_000, 40_000, 55_000, 80_000];
    const plan = planWith({}, [
      ...crashes.map((at) => ({ fault: "crash", process: 0, downMs: 700, at }) as const),
      {
        fault: "requests",
        of: "service",
        at: 20_000,
        forMs: MINUTE_MS,
        share: 0.4,
        kinds: ["refused"],
        writesOnly: true,
      },
    ]);
    expect((await runPlan(plan)).violation).toBeUndefined();
  });

  it("after a restored etcd, a job that had its results takes them", async () => {
    const plan = planWith({}, [{ fault: "restoreEtcd", at: 21_000, behindMs: 90_000, downMs: 1_000, bump: 0 }]);
    const { violation, paid } = await runPlan(plan);
    expect(violation).toBeUndefined();
    expect(paid).toBe(1);
  });
});
