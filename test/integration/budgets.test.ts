import { expect, it } from "vitest";
import { manifest } from "../support/manifests.ts";
import { condition, createWorld, eventually, type World, waitForCondition } from "../support/world.ts";

const phases = async (world: World) => {
  const counts: Record<string, number> = {};
  for (const { status } of await world.list("SpeechJob")) {
    const phase = String(status?.phase ?? "Pending");
    counts[phase] = (counts[phase] ?? 0) + 1;
  }
  return counts;
};

/** @throws when the jobs are in other phases: the message shows them */
const shows = async (world: World, expected: Record<string, number>) => {
  expect(await phases(world)).toEqual(expected);
  return true;
};

it.concurrent("a budget that runs out in the middle of 100 jobs: none is sent over it, the others wait and go when it is raised", async () => {
  // Ten characters cost 200 of 1/10000 yuan each, so 0.2 yuan a job; 6 yuan pay for 30.
  const cost = 2_000;
  const budgets = (limit: number) => [{ memberID: "member-1", keyName: "default", type: "One-time" as const, limit }];
  const world = await createWorld("budget", {
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
  await world.startOperator();
  await eventually("the budget is used up", () => shows(world, { Succeeded: 30, Pending: 70 }));
  const account = await waitForCondition(world, "Account", "default", "BudgetExceeded");
  expect(condition(account, "BudgetExceeded")?.message).toMatch(/has 0 yuan left: new paid work waits$/);
  expect(account.status?.budgets).toMatchObject([{ type: "One-time", limit: "6", used: "6", remaining: "0" }]);
  expect(await phases(world)).toEqual({ Succeeded: 30, Pending: 70 });
  expect(await world.audit("submitSpeech")).toHaveLength(30);
  const [waiting] = (await world.list("SpeechJob")).filter(({ status }) => status?.phase !== "Succeeded");
  expect(condition(waiting as never, "Ready")).toMatchObject({ status: "False", reason: "BudgetExceeded" });

  await world.control("POST", "/__config", { budgets: budgets(45 * cost) });
  await eventually("the raised budget is used up", () => shows(world, { Succeeded: 45, Pending: 55 }), 200_000);
  expect(await world.audit("submitSpeech")).toHaveLength(45);
});

it.concurrent("a budget that begins again each month: what it held goes when its period ends, by itself", async () => {
  const cost = 2_000;
  const budget = { memberID: "member-1", keyName: "default", type: "Recurring" as const, limit: 4 * cost };
  const world = await createWorld("reset", {
    simulator: { timeScale: 0.01, prices: { speechHDPerThousandCharacters: cost * 100 }, budgets: [budget] },
    account: {
      budget: { memberID: "member-1", reservePerTask: "0.2", action: "HoldNew" },
      billing: { interval: "2s" },
    },
  });
  const others = { time: new Date().toISOString(), amount: 5 * cost, productName: "Model A", category: "llm" };
  await world.control("POST", "/__state/charges", [others]);
  for (let i = 0; i < 6; i++) await world.apply(manifest("hd", { text: "0123456789" }, `j-${i}`));
  await world.startOperator();
  const exceeded = await waitForCondition(world, "Account", "default", "BudgetExceeded");
  expect(exceeded.status?.budgets).toMatchObject([{ used: "1", remaining: "-0.2" }]);
  for (let i = 0; i < 6; i++) {
    await eventually(`j-${i} is held`, async () => {
      const job = await world.get("SpeechJob", `j-${i}`);
      return condition(job, "Ready")?.reason === "BudgetExceeded";
    });
  }

  const resetAt = new Date(Date.now() + 5_000).toISOString();
  await world.control("POST", "/__config", { budgets: [{ ...budget, monthsFrom: resetAt }] });
  await eventually("the new month's budget is used up", async () => (await phases(world)).Succeeded === 4, 120_000);
  const submissions = (await world.audit("submitSpeech")).map(({ time }) => Date.parse(time));
  expect(submissions).toHaveLength(4);
  expect(Math.min(...submissions)).toBeGreaterThanOrEqual(Date.parse(resetAt));
  await eventually("the account shows it", async () => {
    const { status } = await world.get("Account", "default");
    const [shown] = (status?.budgets ?? []) as { used: string; periodStart: string }[];
    return shown?.used === "0.8" && shown.periodStart === `${resetAt.slice(0, 19)}Z`;
  });
  expect(await phases(world)).toEqual({ Succeeded: 4, Pending: 2 });
});

it.concurrent("maxConcurrentTasks: never more in flight, across a restart too, and all are done at last", async () => {
  const world = await createWorld("tasks", {
    simulator: { timeScale: 0.2 },
    account: { maxConcurrentTasks: 3 },
  });
  for (let i = 0; i < 12; i++) await world.apply(manifest("hd", {}, `j-${i}`));
  let most = 0;
  const look = async () => {
    const { tasks } = (await world.state()) as { tasks: { endsAtMs?: number; status?: string }[] };
    const counts = await phases(world);
    most = Math.max(most, (counts.Queued ?? 0) + (counts.Running ?? 0) + (counts.Submitting ?? 0));
    return { tasks: tasks.length, done: counts.Succeeded ?? 0 };
  };
  const first = await world.startOperator();
  await eventually("some are done", async () => (await look()).done >= 2, 100_000);
  await first.stop(); // killed in the middle of a request it would leave one Halted
  await world.startOperator();
  await eventually("all are done", async () => (await look()).done === 12, 150_000);
  expect(most).toBe(3);
  expect(await world.audit("submitSpeech")).toHaveLength(12);
});

// Ten characters cost 0.2 yuan.
const COST = 2_000;
const prices = { speechHDPerThousandCharacters: COST * 100 };
const text = "0123456789";
const budgetOf = (tasks: number) => ({
  memberID: "member-1",
  keyName: "default",
  type: "One-time" as const,
  limit: tasks * COST,
});
const holdNew = { memberID: "member-1", reservePerTask: "0.2", action: "HoldNew" };

it.concurrent("deleting jobs whose tasks are in the service's queue does not give back what the tasks will cost", async () => {
  const world = await createWorld("deleted", {
    simulator: {
      queueMs: [85_000, 85_000],
      speechTaskMs: [0, 0],
      prices,
      budgets: [budgetOf(2)],
      enforceBudgets: false,
    },
    account: { budget: holdNew, billing: { interval: "10s" } },
  });
  await world.startOperator();
  for (const name of ["a", "b"]) await world.apply(manifest("hd", { text }, name));
  await eventually("both are in the queue", async () => (await world.audit("submitSpeech")).length === 2, 60_000);
  await eventually("both show their task", async () => (await phases(world)).Queued === 2, 60_000);
  for (const name of ["a", "b"]) {
    await world.remove("SpeechJob", name);
    await world.apply(manifest("hd", { text }, `${name}-again`));
  }
  const account = await waitForCondition(world, "Account", "default", "BudgetExceeded", "True", 150_000);
  expect(account.status?.budgets).toMatchObject([{ used: "0.4", remaining: "0" }]);
  expect(await world.audit("submitSpeech")).toHaveLength(2);
  expect(await phases(world)).toEqual({ Pending: 2 });
});

it.concurrent("a budget that cannot be read any more: no more is paid than it left, and the gate holds and says so", async () => {
  const world = await createWorld("unread", {
    simulator: { timeScale: 0.01, prices, budgets: [budgetOf(3)], enforceBudgets: false },
    account: { budget: holdNew, billing: { interval: "2s" } },
  });
  await world.startOperator();
  await eventually(
    "the budget is read",
    async () => (await world.get("Account", "default")).status?.budgets !== undefined,
  );
  await world.control("POST", "/__faults", { operation: "listKeyBudgets", kind: "status", status: 500, times: 1_000 });
  for (let i = 0; i < 9; i++) await world.apply(manifest("hd", { text }, `j-${i}`));
  const account = await eventually(
    "the account says so",
    async () => {
      const found = await world.get("Account", "default");
      return condition(found, "BudgetExceeded")?.status === "Unknown" && found;
    },
    150_000,
  );
  expect(condition(account, "BudgetExceeded")).toMatchObject({
    reason: "BudgetUnknown",
    message: expect.stringMatching(/^The key budgets of member member-1 were not read since /),
  });
  await eventually("the jobs say so", async () => {
    const waiting = (await world.list("SpeechJob")).filter(({ status }) => status?.phase !== "Succeeded");
    return waiting.length === 6 && waiting.every((job) => condition(job, "Ready")?.reason === "BudgetUnknown");
  });
  expect(await world.audit("submitSpeech")).toHaveLength(3);
});

it.concurrent("a limit that is raised in the account lets waiting jobs go at once", async () => {
  const budget = { monthlyLimit: "0.1", reservePerTask: "0.2", action: "HoldNew" };
  const world = await createWorld("raised", { simulator: { timeScale: 0.01, prices }, account: { budget } });
  await world.control("POST", "/__state/charges", [
    { time: new Date().toISOString(), amount: COST, productName: "Model A", category: "llm" },
  ]);
  await world.startOperator();
  await world.apply(manifest("hd", { text }, "held"));
  const held = await eventually("the job is held", async () => {
    const job = await world.get("SpeechJob", "held");
    return condition(job, "Ready")?.reason === "BudgetExceeded" && job;
  });
  expect(condition(held, "Ready")?.message).toBe(
    "The month has cost 0.2 of 0.1 yuan: raise the budget, or set spec.budget.action of the account to Warn",
  );
  await world.patch("Account", "default", { spec: { budget: { monthlyLimit: "0.3" } } });
  await eventually(
    "the job shows the present reading",
    async () => {
      const job = await world.get("SpeechJob", "held");
      return /more than is left: The month has cost 0\.2 of 0\.3 yuan$/.test(condition(job, "Ready")?.message ?? "");
    },
    10_000,
  );
  await world.patch("Account", "default", { spec: { budget: { monthlyLimit: "10" } } });
  await waitForCondition(world, "SpeechJob", "held", "Ready", "True", 20_000);
});
