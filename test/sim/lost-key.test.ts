import { expect, it } from "vitest";
import { planOf } from "./scenario/plan.ts";
import { runPlan } from "./scenario/run.ts";

const MINUTE_MS = 60_000;

it("an account whose Secret has no key any more reads it at the pace of other accounts, however old its last probe is", async () => {
  const plan = { ...planOf(1), replicas: 1, actions: [], objects: [], budgetTasks: undefined, chaosMs: 30 * MINUTE_MS };
  const reads: number[] = [];
  const onTrace = (line: string) => {
    if (line.includes("GET /api/v1/namespaces/platform/secrets/key")) reads.push(Number.parseFloat(line));
  };
  const lost = { at: MINUTE_MS, fault: "loseKey", forMs: 25 * MINUTE_MS } as const;
  const { violation } = await runPlan({ ...plan, faults: [lost] }, { onTrace });
  expect(violation).toBeUndefined();
  const meanwhile = reads.filter((at) => at > lost.at && at < lost.at + lost.forMs);
  expect(meanwhile.length).toBeGreaterThan(50);
  expect(meanwhile.length).toBeLessThan(400);
});
