import type { Registry } from "prom-client";
import type { Account, ClusterAccount } from "../api/v1alpha1/account.ts";
import { parseYuan } from "../base/money.ts";
import type { AccountHandle, AccountKey } from "../controllers/account/registry.ts";
import { addGauge } from "../runtime/gauge.ts";

export type LimitedAccount = { account: AccountKey; object: Account | ClusterAccount; handle: AccountHandle };
type Limit = { account: AccountKey; limit: string; most: number; used: number | undefined };

/** How much of its limits each account uses. `accounts`: those that can be used. `showsSpending`: also of its budgets. */
export function registerLimitMetrics(
  registry: Registry,
  accounts: () => Iterable<LimitedAccount>,
  showsSpending: boolean,
): void {
  const labelNames = ["account", "limit"] as const;
  const limits = () =>
    [...accounts()].flatMap((one) => [...limitsOf(one), ...(showsSpending ? budgetLimitsOf(one) : [])]);
  addGauge(registry, {
    name: "mooring_account_limit",
    help: "Limits of an account: Tasks (maxConcurrentTasks), RequestsPerSecond (rateLimit), MonthlyYuan (budget.monthlyLimit) and KeyYuan (the key budget of which the largest part is used). A limit that is not set is absent",
    labelNames,
    read: () => limits().map(({ account, limit, most }) => [{ account, limit }, most]),
  });
  addGauge(registry, {
    name: "mooring_account_limit_used",
    help: "What is used of the limits in mooring_account_limit, but for RequestsPerSecond, which mooring_service_requests_total shows; absent while it is unknown",
    labelNames,
    read: () =>
      limits().flatMap(({ account, limit, used }) => (used === undefined ? [] : [[{ account, limit }, used]])),
  });
}

function limitsOf({ account, object: { spec }, handle }: LimitedAccount): Limit[] {
  const limits: Limit[] = [
    { account, limit: "RequestsPerSecond", most: spec.rateLimit.requestsPerSecond, used: undefined },
  ];
  if (spec.maxConcurrentTasks !== undefined) {
    limits.push({ account, limit: "Tasks", most: spec.maxConcurrentTasks, used: handle.tasks.inFlight() });
  }
  return limits;
}

function budgetLimitsOf({ account, object: { spec }, handle }: LimitedAccount): Limit[] {
  const limits: Limit[] = [];
  const { monthlyLimit, memberID, keyID } = spec.budget ?? {};
  if (monthlyLimit !== undefined) {
    const month = handle.money.spend()?.month;
    const used = month === undefined ? undefined : yuan(month);
    limits.push({ account, limit: "MonthlyYuan", most: yuan(parseYuan(monthlyLimit)), used });
  }
  const keys = memberID === undefined ? [] : (handle.money.budgets() ?? []);
  const counted = keys.flatMap((key) =>
    (keyID === undefined || key.keyID === keyID) && key.limit !== undefined && key.limit > 0n && key.used !== undefined
      ? [{ most: yuan(key.limit), used: yuan(key.used) }]
      : [],
  );
  const [fullest] = counted.sort((a, b) => b.used / b.most - a.used / a.most);
  if (fullest !== undefined) limits.push({ account, limit: "KeyYuan", ...fullest });
  return limits;
}

/** Yuan as a number, for metrics only. */
const yuan = (amount: bigint): number => Number(amount) / 10_000;
