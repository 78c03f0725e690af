import { expect, it } from "vitest";
import { manifest } from "../../support/manifests.ts";
import { condition } from "../../support/world.ts";
import { type Stage, waitForCondition } from "../stage/stage.ts";
import { startedStage } from "../stage/started.ts";

const phases = async (world: Stage) => {
  const counts: Record<string, number> = {};
  for (const { status } of await world.list("SpeechJob")) {
    const phase = String(status?.phase ?? "Pending");
    counts[phase] = (counts[phase] ?? 0) + 1;
  }
  return counts;
};

/** @throws when the jobs are in other phases: the message shows them */
const shows = async (world: Stage, expected: Record<string, number>) => {
  expect(await phases(world)).toEqual(expected);
  return true;
};

it("a budget that runs out in the middle of 100 jobs: none is sent over it, the others wait and go when it is raised", async () => {
  // Ten characters cost 200 of 1/10000 yuan each, so 0.2 yuan a job; 6 yuan pay for 30.
  const cost = 2_000;
  const budgets = (limit: number) => [{ memberID: "member-1", keyName: "default", type: "One-time" as const, limit }];
  const world = await startedStage({
    simulator: {
      timeScale: 0.01,
      prices: { speechHDPerThousandCharacters: cost * 100 },
      budgets: budgets(30 * cost),
      enforceBudgets: false,
    },
    account: { budget: { memberID: "member-1", reservePerTask: "0.2", action: "HoldNew" } },
  });
  for (let i = 0; i < 100; i++) {
    const job = manifest("hd", { text: "0123456789" }, `j-${i}`);
    await world.apply(job);
  }
  await world.eventually("the budget is used up", () => shows(world, { Succeeded: 30, Pending: 70 }));
  const account = await waitForCondition(world, "Account", "default", "BudgetExceeded");
  expect(condition(account, "BudgetExceeded")?.message).toMatch(/has 0 yuan left: new paid work waits$/);
  expect(account.status?.budgets).toMatchObject([{ type: "One-time", limit: "6", used: "6", remaining: "0" }]);
  expect(await phases(world)).toEqual({ Succeeded: 30, Pending: 70 });
  expect(await world.audit("submitSpeech")).toHaveLength(30);
  const [waiting] = (await world.list("SpeechJob")).filter(({ status }) => status?.phase !== "Succeeded");
  expect(condition(waiting as never, "Ready")).toMatchObject({ status: "False", reason: "BudgetExceeded" });

  await world.control("POST", "/__config", { budgets: budgets(45 * cost) });
  await world.eventually("the raised budget is used up", () => shows(world, { Succeeded: 45, Pending: 55 }), 200_000);
  expect(await world.audit("submitSpeech")).toHaveLength(45);
});

it("a budget that begins again each month: what it held goes when its period ends, by itself", async () => {
  const cost = 2_000;
  const budget = { memberID: "member-1", keyName: "default", type: "Recurring" as const, limit: 4 * cost };
  const world = await startedStage({
    simulator: { timeScale: 0.01, prices: { speechHDPerThousandCharacters: cost * 100 }, budgets: [budget] },
    account: {
      budget: { memberID: "member-1", reservePerTask: "0.2", action: "HoldNew" },
      billing: { interval: "2s" },
    },
  });
  const others = {
    time: new Date(world.service.now()).toISOString(),
    amount: 5 * cost,
    productName: "Model A",
    category: "llm",
  };
  await world.control("POST", "/__state/charges", [others]);
  for (let i = 0; i < 6; i++) await world.apply(manifest("hd", { text: "0123456789" }, `j-${i}`));
  const exceeded = await waitForCondition(world, "Account", "default", "BudgetExceeded");
  expect(exceeded.status?.budgets).toMatchObject([{ used: "1", remaining: "-0.2" }]);
  for (let i = 0; i < 6; i++) {
    await world.eventually(`j-${i} is held`, async () => {
      const job = await world.get("SpeechJob", `j-${i}`);
      return condition(job, "Ready")?.reason === "BudgetExceeded";
    });
  }

  const resetAt = new Date(world.service.now() + 5_000).toISOString();
  await world.control("POST", "/__config", { budgets: [{ ...budget, monthsFrom: resetAt }] });
  await world.eventually(
    "the new month's budget is used up",
    async () => (await phases(world)).Succeeded === 4,
    120_000,
  );
  const submissions = (await world.audit("submitSpeech")).map(({ time }) => Date.parse(time));
  expect(submissions).toHaveLength(4);
  expect(Math.min(...submissions)).toBeGreaterThanOrEqual(Date.parse(resetAt));
  await world.eventually("the account shows it", async () => {
    const { status } = await world.get("Account", "default");
    const [shown] = (status?.budgets ?? []) as { used: string; periodStart: string }[];
    return shown?.used === "0.8" && shown.periodStart === `${resetAt.slice(0, 19)}Z`;
  });
  expect(await phases(world)).toEqual({ Succeeded: 4, Pending: 2 });
});
