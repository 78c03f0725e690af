import { Counter, type Registry } from "prom-client";
import type { Money } from "../base/money.ts";
import type { AccountKey, AccountRegistry } from "../controllers/account/registry.ts";
import type { CostEstimates } from "../controllers/billing/estimates.ts";
import type { Spend } from "../provider/money/spend.ts";
import { addGauge } from "../runtime/gauge.ts";

/** Categories an account that get a label value of their own; what they are is the service's to say. */
const CATEGORIES = 20;
const OTHER = "other";

/** Yuan as a number, for metrics only. */
const yuan = (amount: Money): number => Number(amount) / 10_000;

/**
 * When the bills that `Account.spec.billing.interval` reads were read, and what accounts cost by them.
 * @param showsSpending whether the metrics have amounts
 */
export function registerSpendMetrics(
  registry: Registry,
  accounts: () => AccountRegistry | undefined,
  showsSpending: boolean,
): void {
  const spends = () =>
    [...(accounts()?.entries() ?? [])].flatMap(([account, { handle }]) => {
      const spend = handle?.money.spend();
      return spend === undefined ? [] : [{ account, spend }];
    });
  addGauge(registry, {
    name: "mooring_bills_read_timestamp_seconds",
    help: "When the bills of the account were last read, Unix seconds",
    labelNames: ["account"],
    read: () => spends().map(({ account, spend }) => [{ account }, spend.atMs / 1000]),
  });
  if (showsSpending) registerAmounts(registry, spends);
}

function registerAmounts(registry: Registry, spends: () => { account: AccountKey; spend: Spend }[]): void {
  addGauge(registry, {
    name: "mooring_spend_yuan",
    help: "Cost of the current day, week and calendar month according to the bills, including vouchers; absent while a bill has an amount that cannot be read",
    labelNames: ["account", "period"],
    read: () =>
      spends().flatMap(({ account, spend }) =>
        (["day", "week", "month"] as const).flatMap((period) => {
          const sum = spend[period];
          return sum === undefined ? [] : [[{ account, period }, yuan(sum)] as const];
        }),
      ),
  });
  const months = new Map<AccountKey, { start: number; highest: Map<string, number> }>();
  new Counter({
    name: "mooring_spend_yuan_total",
    help: "Cost of the current calendar month by account and category. Resets each month; a refund does not lower it",
    labelNames: ["account", "category"],
    registers: [registry],
    collect() {
      this.reset();
      for (const { account, spend } of spends()) {
        const month = months.get(account);
        // A counter that falls reads as a restart and would count the whole month twice.
        const highest = month?.start === spend.monthStart ? month.highest : new Map<string, number>();
        months.set(account, { start: spend.monthStart, highest });
        const sums = new Map<string, number>();
        for (const [category, amount] of spend.byCategory) {
          const label = highest.has(category) || highest.size < CATEGORIES ? category : OTHER;
          sums.set(label, (sums.get(label) ?? 0) + yuan(amount));
          if (label === category) highest.set(category, Math.max(highest.get(category) ?? 0, yuan(amount)));
        }
        if (sums.has(OTHER)) highest.set(OTHER, Math.max(highest.get(OTHER) ?? 0, sums.get(OTHER) ?? 0));
        for (const [category, value] of highest) this.inc({ account, category }, value);
      }
    },
  });
}

/** What namespaces cost. */
export function registerShowbackMetrics(
  registry: Registry,
  estimates: () => Pick<CostEstimates, "entries"> | undefined,
): void {
  addGauge(registry, {
    name: "mooring_estimated_cost_yuan",
    help: "Estimated cost of the current calendar month by account and namespace, from the bills and the observed usage. The namespace is empty for the unattributed rest; the sum over all namespaces is the cost of the month",
    labelNames: ["account", "namespace"],
    read: () =>
      [...(estimates()?.entries() ?? [])].flatMap(([account, { result }]) => [
        ...result.shares("Namespace").map(({ namespace, amount }) => [{ account, namespace }, yuan(amount)] as const),
        [{ account, namespace: "" }, yuan(result.unattributed)] as const,
      ]),
  });
}
