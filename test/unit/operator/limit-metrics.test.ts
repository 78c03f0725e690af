import { Registry } from "prom-client";
import { expect, it } from "vitest";
import { accountSpecSchema } from "../../../src/api/v1alpha1/account.ts";
import { type LimitedAccount, registerLimitMetrics } from "../../../src/operator/limit-metrics.ts";

type Money = { month: bigint | undefined; budgets: { keyID: string; limit: bigint; used: bigint }[] };

async function linesFor(spec: object, { month, budgets }: Money): Promise<string[]> {
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
  registerLimitMetrics(registry, () => [account]);
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
