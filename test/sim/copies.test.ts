import { describe, expect, it } from "vitest";
import type { ObjectPlan } from "./scenario/objects.ts";
import { type Plan, planOf } from "./scenario/plan.ts";
import { runPlan } from "./scenario/run.ts";

const kinds = ["VideoJob", "SpeechJob", "SpeechJob", "VideoJob", "SpeechJob", "SpeechJob", "SpeechJob"] as const;
const objects: ObjectPlan[] = kinds.map((kind, serial) => ({
  serial,
  kind,
  namespace: "team-a",
  name: `object-${serial}`,
  at: 20_000 + 100 * serial,
  stored: true,
  synchronous: serial > 3 || serial === 2,
}));

function planWith(faults: Plan["faults"]): Plan {
  const calm = { budgetTasks: undefined, maxConcurrentTasks: undefined, batches: [], actions: [] };
  return { ...planOf(1), ...calm, objects, faults, chaosMs: 180_000 };
}

describe("each result is copied once and whole", () => {
  it.each<[string, Plan["faults"]]>([
    ["while nothing fails", []],
    [
      "while the store and the results break off",
      [
        {
          fault: "requests",
          of: "service",
          at: 25_000,
          forMs: 120_000,
          share: 0.3,
          kinds: ["refused"],
          writesOnly: true,
        },
      ],
    ],
    ["when the store is down for a time", [{ fault: "down", of: "service", at: 24_000, forMs: 60_000 }]],
    [
      "when the operator crashes during the copies",
      [24_000, 27_000, 30_000, 34_000].map((at) => ({ fault: "crash", process: 0, downMs: 500, at })),
    ],
  ])("%s", async (_, faults) => {
    const { violation, paid } = await runPlan(planWith(faults));
    expect(violation).toBeUndefined();
    expect(paid).toBeGreaterThanOrEqual(objects.length);
  });
});
