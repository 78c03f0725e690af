import { Counter, Histogram, type Registry } from "prom-client";
import { formatYuan, type Money } from "../base/money.ts";
import type { AccountKey, AccountRegistry } from "../controllers/account/registry.ts";
import type { CallEvent } from "../provider/call-options.ts";
import { OPERATION_NAMES } from "../provider/operations.ts";
import { addGauge } from "../runtime/gauge.ts";
import type { SpendingAdmission } from "../submission/admission.ts";
import { registerSpendMetrics } from "./billing-metrics.ts";

/**
 * Metrics of the remote side, all `mooring_`; labels have as many values as there are accounts and operations.
 * @param showsSpending whether they have amounts
 */
export function createServiceMetrics(
  registry: Registry,
  accounts: () => AccountRegistry | undefined,
  admission: () => Pick<SpendingAdmission, "waiting" | "balance">,
  showsSpending: boolean,
) {
  const registers = [registry];
  const calls = new Counter({
    name: "mooring_service_requests_total",
    help: "Requests to the remote service by account, operation and result (an HTTP status or the kind of error)",
    labelNames: ["account", "operation", "result"],
    registers,
  });
  const seconds = new Histogram({
    name: "mooring_service_request_duration_seconds",
    help: "Duration of requests to the remote service, without the wait for the rate limit",
    labelNames: ["operation"],
    buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
    registers,
  });
  const labelNames = ["account"] as const;
  const known = () => [...(accounts()?.entries() ?? [])];
  addGauge(registry, {
    name: "mooring_tasks_in_flight",
    help: "Remote tasks that Mooring polls, by account",
    labelNames,
    read: () => known().map(([account, { handle }]) => [{ account }, handle?.tasks.inFlight() ?? 0]),
  });
  addGauge(registry, {
    name: "mooring_account_ready",
    help: "1 when the account can be used, else 0, as when its balance is empty",
    labelNames,
    read: () =>
      known().map(([account, { state }]) => {
        const isReady = state.kind === "Ready" && admission().balance(account) === undefined;
        return [{ account }, isReady ? 1 : 0];
      }),
  });
  addGauge(registry, {
    name: "mooring_service_calls_waiting",
    help: "Requests that wait for the account's rate limit",
    labelNames,
    read: () => known().map(([account, { handle }]) => [{ account }, handle?.requests.waiting() ?? 0]),
  });
  addGauge(registry, {
    name: "mooring_breaker_open",
    help: "1 for an operation that Mooring stopped calling after repeated failures; other operations have no series",
    labelNames: ["account", "operation"],
    read: () =>
      known().flatMap(([account, { handle }]) =>
        OPERATION_NAMES.filter((one) => (handle?.requests.breakerState(one) ?? "Closed") !== "Closed").map(
          (operation) => [{ account, operation }, 1] as const,
        ),
      ),
  });
  addGauge(registry, {
    name: "mooring_jobs_waiting",
    help: "Jobs that wait for the account's budget, for maxConcurrentTasks or for their turn at its rate limit",
    labelNames,
    read: () => known().map(([account]) => [{ account }, admission().waiting(account)]),
  });
  const headrooms = (shownAs: (headroom: Money) => number) => () =>
    known().flatMap(([account, { handle }]) => {
      const state = handle?.budget()?.state;
      return state?.kind === "Limited" ? [[{ account }, shownAs(state.headroom)] as const] : [];
    });
  addGauge(registry, {
    name: "mooring_budget_exceeded",
    help: "1 when the budget of the account leaves nothing for new paid work, else 0; absent without a limit",
    labelNames,
    read: headrooms((headroom) => (headroom > 0n ? 0 : 1)),
  });
  registerSpendMetrics(registry, accounts, showsSpending);
  if (showsSpending) {
    addGauge(registry, {
      name: "mooring_budget_left_yuan",
      help: "Budget of an account that is left for new paid work; negative if it is exceeded, absent without a limit",
      labelNames,
      read: headrooms((headroom) => Number(formatYuan(headroom))),
    });
  }
  return {
    onCall(account: AccountKey, event: CallEvent): void {
      const result = event.errorKind ?? String(event.status ?? "");
      calls.inc({ account, operation: event.operation, result });
      seconds.observe({ operation: event.operation }, event.durationMs / 1000);
    },
  };
}
