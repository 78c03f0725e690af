import { describe, expect, it } from "vitest";
import { type BatchPlan, type Plan, planOf } from "./scenario/plan.ts";
import { runPlan } from "./scenario/run.ts";

const MINUTE_MS = 60_000;
const serials = Array.from({ length: 12 }, (_, at) => 1_000 + at);
const book: BatchPlan = {
  namespace: "team-a",
  name: "book",
  at: 20_000,
  kind: "SpeechJob",
  serials,
  parallelism: 3,
  synchronous: true,
  reuse: false,
};

function planWith(change: Partial<BatchPlan>, faults: Plan["faults"] = []): Plan {
  const calm = { budgetTasks: undefined, maxConcurrentTasks: undefined, actions: [], objects: [] };
  return { ...planOf(1), ...calm, batches: [{ ...book, ...change }], faults, chaosMs: 5 * MINUTE_MS };
}

describe("each item of a batch is paid for once", () => {
  it.each<[string, Partial<BatchPlan>]>([
    ["audio in the response", {}],
    ["audio of a task", { synchronous: false }],
    ["videos", { kind: "VideoJob", synchronous: false }],
  ])("%s", async (_, change) => {
    const { violation, paid } = await runPlan(planWith(change));
    expect(violation).toBeUndefined();
    expect(paid).toBe(serials.length);
  });

  it("and items with the same request once, when they reuse results", async () => {
    const { violation, paid } = await runPlan(
      planWith({ reuse: true, serials: serials.map((serial) => serial - (serial % 3)) }),
    );
    expect(violation).toBeUndefined();
    expect(paid).toBe(5);
  });

  const lost: Plan["faults"][number] = {
    fault: "requests",
    of: "service",
    at: 20_000,
    forMs: 5 * MINUTE_MS,
    share: 1,
    kinds: ["responseLost"],
    writesOnly: true,
  };

  it("when every response is lost, once before and once after the one decision about all of them", async () => {
    // The store is lost as well after a while.
    const few = serials.slice(0, 6);
    const { violation, paid } = await runPlan(
      planWith({ serials: few, parallelism: 1, synchronous: false, maxHalted: 20 }, [lost]),
    );
    expect(violation).toBeUndefined();
    expect(paid).toBe(2 * few.length);
  });

  it("when every response is lost and nobody decides, for no more items than parallelism and maxHaltedIndexes", async () => {
    const { violation, paid } = await runPlan(planWith({ synchronous: false, maxHalted: 2 }, [lost]));
    expect(violation).toBeUndefined();
    expect(paid).toBeGreaterThan(serials.length + 2);
    expect(paid).toBeLessThanOrEqual(serials.length + 2 + book.parallelism);
  });

  it("while the operator crashes again and again, and responses are lost", async () => {
    const crashes = [22_000, 23_500, 26_000, 31_000, 36_000, 40_000, 47_000, 55_000, 63_000, 80_000];
    const plan = planWith({ parallelism: 4 }, [
      ...crashes.map((at) => ({ fault: "crash", process: 0, downMs: 700, at }) as const),
      {
        fault: "requests",
        of: "service",
        at: 20_000,
        forMs: MINUTE_MS,
        share: 0.3,
        kinds: ["responseLost", "errorAfter"],
        writesOnly: true,
      },
      {
        fault: "requests",
        of: "api",
        at: 90_000,
        forMs: MINUTE_MS,
        share: 0.3,
        kinds: ["responseLost", "errorAfter"],
        writesOnly: true,
      },
    ]);
    expect((await runPlan(plan)).violation).toBeUndefined();
  });
});
