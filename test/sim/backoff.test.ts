import { expect, it } from "vitest";
import type { ObjectPlan } from "./scenario/objects.ts";
import { type Plan, planOf } from "./scenario/plan.ts";
import { runPlan } from "./scenario/run.ts";

const kinds = ["GpuEndpoint", "VideoJob", "SpeechJob", "VideoJob", "SpeechJob", "VideoJob"] as const;
const objects: ObjectPlan[] = kinds.map((kind, serial) => ({
  serial,
  kind,
  namespace: serial % 2 === 0 ? "team-a" : "team-b",
  name: `object-${serial}`,
  at: 20_000 + 5_000 * serial,
  synchronous: serial === 2,
}));

it.each([0.6, 0.8, 0.95])(
  "nothing is sent before its backoff ends while the service refuses %f of the writes",
  async (share) => {
    const plan: Plan = {
      ...planOf(1),
      objects,
      batches: [],
      budgetTasks: undefined,
      maxConcurrentTasks: undefined,
      actions: [],
      faults: [
        { fault: "requests", of: "service", at: 0, forMs: 400_000, share, kinds: ["throttled"], writesOnly: true },
      ],
      chaosMs: 400_000,
    };
    const { violation, counts, paid } = await runPlan(plan);
    expect(violation).toBeUndefined();
    expect({ paid, refused: (counts.get("service throttled") ?? 0) > 3 }).toEqual({ paid: 5, refused: true });
  },
);
