import { Registry } from "prom-client";
import { expect, it } from "vitest";
import { accountSpecSchema } from "../../../src/api/v1alpha1/account.ts";
import type { AccountRegistry } from "../../../src/controllers/account/registry.ts";
import { isMetricsGuarded } from "../../../src/operator/config.ts";
import { type LimitedAccount, registerLimitMetrics } from "../../../src/operator/limit-metrics.ts";
import { createServiceMetrics } from "../../../src/operator/provider-metrics.ts";

type Money = { month: bigint | undefined; budgets: { keyID: string; limit: bigint; used: bigint }[] };

async function linesFor(spec: object, { month, budgets }: Money, showsSpending = true): Promise<string[]> {
  const registry = new Registry();
  const parsed = accountSpecSchema.parse({
    baseURL: "https://service.example.com",
    apiKeySecretRef: { name: "key", key: "apiKey" },
    rateLimit: { requestsPerSecond: 5 },
    ...spec,
  });
  const account = {
    account: "Account/team-a/default",
    object: { metadata: { name: "default", namespace: "team-a" }, spec: parsed },
    handle: {
      tasks: { inFlight: () => 3 },
      money: { spend: () => ({ month }), budgets: () => budgets },
    },
  } as unknown as LimitedAccount;
  registerLimitMetrics(registry, () => [account], showsSpending);
  const lines = (await registry.metrics()).split("\n").filter((line) => line.startsWith("mooring_"));
  return lines.map((line) => line.replace('account="Account/team-a/default",', "").replace("mooring_account_", ""));
}

it("limits that are set are shown with what is used of them; of key budgets, the fullest", async () => {
  const spec = { maxConcurrentTasks: 4, budget: { memberID: "m", monthlyLimit: "200" } };
  const budgets = [
    { keyID: "empty", limit: 1_000_000n, used: 0n },
    { keyID: "full", limit: 100_000n, used: 90_000n },
  ];
  expect(await linesFor(spec, { month: 500_000n, budgets })).toEqual([
    'limit{limit="RequestsPerSecond"} 5',
    'limit{limit="Tasks"} 4',
    'limit{limit="MonthlyYuan"} 200',
    'limit{limit="KeyYuan"} 10',
    'limit_used{limit="Tasks"} 3',
    'limit_used{limit="MonthlyYuan"} 50',
    'limit_used{limit="KeyYuan"} 9',
  ]);
});

it("a key that is not the account's does not count, and nothing is shown as used while it is unknown", async () => {
  const spec = { budget: { memberID: "m", keyID: "own", monthlyLimit: "200" } };
  const budgets = [{ keyID: "other", limit: 100_000n, used: 90_000n }];
  expect(await linesFor(spec, { month: undefined, budgets })).toEqual([
    'limit{limit="RequestsPerSecond"} 5',
    'limit{limit="MonthlyYuan"} 200',
  ]);
});

it("budgets are not shown to everyone", async () => {
  const spec = { maxConcurrentTasks: 4, budget: { memberID: "m", monthlyLimit: "200" } };
  const money = { month: 500_000n, budgets: [{ keyID: "full", limit: 100_000n, used: 90_000n }] };
  expect(await linesFor(spec, money, false)).toEqual([
    'limit{limit="RequestsPerSecond"} 5',
    'limit{limit="Tasks"} 4',
    'limit_used{limit="Tasks"} 3',
  ]);
});

it.each([
  [":8080", "none", false],
  ["0.0.0.0:8080", "none", false],
  ["127.0.0.1:8080", "none", true],
  [":8080", "token-review", true],
] as const)("metrics at %s with --metrics-auth %s have amounts: %s", async (address, auth, expected) => {
  const guarded = isMetricsGuarded({ metricsBindAddress: address, metricsAuth: auth });
  expect(guarded).toBe(expected);
  const registry = new Registry();
  const handle = {
    budget: () => ({ state: { kind: "Limited", headroom: -5n, message: "" } }),
    money: {
      spend: () => ({ day: 1n, week: 2n, month: 3n, byCategory: new Map([["llm", 3n]]), monthStart: 0, atMs: 0 }),
    },
    requests: { waiting: () => 0, breakerState: () => "Closed" },
    tasks: { inFlight: () => 0 },
  };
  const accounts = { entries: () => [["Account/team/a", { state: { kind: "Ready" }, handle }]] };
  createServiceMetrics(
    registry,
    () => accounts as unknown as AccountRegistry,
    () => ({ waiting: () => 0, balance: () => undefined }),
    guarded,
  );
  const text = await registry.metrics();
  expect(/^mooring_(spend|budget_left)_yuan/m.test(text)).toBe(expected);
  expect(text.split("\n")).toContain('mooring_budget_exceeded{account="Account/team/a"} 1');
  expect(text).toContain("mooring_bills_read_timestamp_seconds");
});
