import { type Account, type AccountStatus, type ClusterAccount, showsSpending } from "../../api/v1alpha1/account.ts";
import type { ConditionUpdate } from "../../api/v1alpha1/conditions.ts";
import type { Reason } from "../../api/v1alpha1/reasons.ts";
import { rfc3339 } from "../../base/clock.ts";
import { formatYuan } from "../../base/money.ts";
import type { Spend } from "../../provider/money/spend.ts";
import type { Unbilled } from "../../submission/reservations.ts";
import { type Prices, shownPrices } from "../billing/prices.ts";
import { mergeConditions } from "../report.ts";
import type { ShownTasks } from "./abandoned-tasks.ts";
import { budgetCondition, shownBudgets } from "./budget.ts";
import type { Server } from "./other-servers.ts";
import type { Probe } from "./probe.ts";
import type { AccountHandle } from "./registry.ts";
import { shownUnbilled } from "./unbilled.ts";

/** A second installation sets the condition Contested again while it lasts. */
const CONTESTED_MS = 10 * 60_000;

export type AccountOutcome =
  | { kind: "Probed"; probe: Probe }
  /** The spec is not valid, or the key could not be read; nothing was asked of the service. */
  | { kind: "NoKey"; reason: Reason; message: string };

/** `total` and `orphaned` are undefined until the account's endpoints were listed once. */
export type AccountCounts = {
  total: number | undefined;
  managed: number;
  orphaned: number | undefined;
  inFlight: number;
  abandoned: ShownTasks;
  /** undefined: no task has ended since the start; what the status says stays. */
  unbilled?: Unbilled | undefined;
};

export type AccountFacts = {
  object: Account | ClusterAccount;
  /** undefined: the status names it already. */
  server?: Server | undefined;
  outcome: AccountOutcome;
  counts: AccountCounts;
  /** It is to be deleted, and these still need it. */
  users: { names: string[]; total: number } | undefined;
  handledRequest: string | undefined;
  /** Why the list of endpoints cannot be read; default: it can. */
  listFailure?: string | undefined;
  /** undefined: the bills were not read since the start; what the status says stays. */
  spend: Spend | undefined;
  /** undefined: none is known since the start; what the status says stays. */
  prices?: Prices | undefined;
  /** Why paid work waits for the balance; default: it does not. */
  unpaid?: string | undefined;
  /** What is wrong with the shares. Default: the account has none. */
  shareFaults?: readonly string[] | undefined;
  /** undefined: there is none, or the account was not used yet. */
  budget: ReturnType<AccountHandle["budget"]>;
  now: number;
};

/** The whole status after a reconcile. Pure. */
export function accountStatus({ object, outcome, counts, users, ...facts }: AccountFacts): AccountStatus {
  const { server, handledRequest, spend, budget, now } = facts;
  const { generation } = object.metadata;
  const previous = object.status;
  const shows = showsSpending(object.spec);
  const base: AccountStatus = shows ? (previous ?? { conditions: [] }) : withoutSpending(previous);
  const limits = outcome.kind === "Probed" ? (outcome.probe.limits ?? base.limits) : base.limits;
  const inUse: ConditionUpdate[] = users === undefined ? [] : [{ type: "Ready", status: "False", ...inUseBy(users) }];
  const updates = [
    ...updatesOf(outcome, facts.unpaid).filter(({ type }) => users === undefined || type !== "Ready"),
    ...inUse,
    ...budgetUpdates(budget),
    ...listUpdates(facts.listFailure),
    ...shareUpdates(facts.shareFaults),
  ];
  // A budget that the spec no longer has is not exceeded.
  const kept = (base.conditions ?? []).filter(
    ({ type, lastTransitionTime }) =>
      (object.spec.budget !== undefined || type !== "BudgetExceeded") &&
      (facts.listFailure !== undefined || type !== "EndpointsListed") &&
      (facts.shareFaults !== undefined || type !== "SharesValid") &&
      (type !== "Contested" || now - Date.parse(lastTransitionTime) < CONTESTED_MS),
  );
  return {
    ...base,
    ...(server === undefined ? {} : { server }),
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    ...(handledRequest === undefined ? {} : { lastHandledReconcileAt: handledRequest }),
    ...(limits === undefined ? {} : { limits }),
    endpoints: {
      ...base.endpoints,
      managed: counts.managed,
      ...(counts.total === undefined ? {} : { total: counts.total }),
      ...(counts.orphaned === undefined ? {} : { orphaned: counts.orphaned }),
    },
    tasks: {
      inFlight: counts.inFlight,
      ...(counts.abandoned.length === 0 ? {} : { abandoned: counts.abandoned }),
      ...(object.spec.budget?.action === "HoldNew" ? unbilledOf(base, counts.unbilled) : {}),
    },
    ...(spend === undefined || !shows ? {} : { spend: shownSpend(spend) }),
    ...(facts.prices === undefined || !shows ? {} : { prices: shownPrices(facts.prices) }),
    ...(budget?.keys === undefined ? {} : { budgets: shownBudgets(budget.keys) }),
    conditions: mergeConditions(kept, updates, object.metadata, now),
  };
}

function unbilledOf(
  base: AccountStatus,
  unbilled: Unbilled | undefined,
): Pick<NonNullable<AccountStatus["tasks"]>, "unbilled"> {
  const shown = unbilled === undefined ? base.tasks?.unbilled : shownUnbilled(unbilled);
  return shown === undefined ? {} : { unbilled: shown };
}

function withoutSpending(status: AccountStatus | undefined): AccountStatus {
  const { spend, budgets, prices, ...others } = status ?? { conditions: [] };
  return others;
}

function budgetUpdates(budget: ReturnType<AccountHandle["budget"]>): ConditionUpdate[] {
  return budget === undefined ? [] : [budgetCondition(budget.spec.action, budget.state)];
}

function listUpdates(failure: string | undefined): ConditionUpdate[] {
  if (failure === undefined) return [];
  const message = `${failure}: endpoints of this account are not observed; the list is retried with backoff`;
  return [{ type: "EndpointsListed", status: "False", reason: "ListUnreadable", message }];
}

function shareUpdates(faults: readonly string[] | undefined): ConditionUpdate[] {
  if (faults === undefined) return [];
  const type = "SharesValid";
  if (faults.length > 0) return [{ type, status: "False", reason: "SharesInvalid", message: faults.join("; ") }];
  return [{ type, status: "True", reason: "SharesValid", message: "Each share selects namespaces of its own" }];
}

function updatesOf(outcome: AccountOutcome, unpaid: string | undefined): ConditionUpdate[] {
  if (outcome.kind === "NoKey") {
    const { reason, message } = outcome;
    return [
      { type: "Authenticated", status: "Unknown", reason, message },
      { type: "Stalled", status: "True", reason, message },
    ];
  }
  const { probe } = outcome;
  const reachable: ConditionUpdate = {
    type: "Reachable",
    status: probe.reachable,
    reason: probe.reachable === "True" ? "Reachable" : heldFor(probe),
    message: probe.reachable === "True" ? "The service answers" : probe.message,
  };
  const authenticated: ConditionUpdate = {
    type: "Authenticated",
    status: probe.authenticated,
    reason:
      probe.authenticated === "True" ? "Authenticated" : probe.authenticated === "False" ? "Unauthorized" : "Pending",
    message: probe.message,
  };
  return [reachable, authenticated, readinessOf(probe, unpaid)];
}

function readinessOf(probe: Probe, unpaid: string | undefined): ConditionUpdate {
  const stalled = (reason: Reason, message: string) => ({ type: "Stalled", status: "True", reason, message }) as const;
  if (probe.state.kind === "Ready" && unpaid !== undefined) {
    const message = `${unpaid}. All paid work of the account waits; one request tries again after pauses of up to 30 minutes`;
    return stalled("InsufficientBalance", message);
  }
  if (probe.state.kind === "Ready") {
    return { type: "Ready", status: "True", reason: "Ready", message: "The account can be used" };
  }
  if (probe.authenticated === "False") return stalled("Unauthorized", probe.message);
  const reason = heldFor(probe);
  if (reason !== "Unreachable") return stalled(reason, probe.message);
  return { type: "Ready", status: "False", reason, message: probe.message };
}

function heldFor({ state }: Probe): Reason {
  return state.kind === "Held" ? state.reason : "Unreachable";
}

function inUseBy({ names, total }: { names: string[]; total: number }): { reason: Reason; message: string } {
  const more = total > names.length ? ` and ${total - names.length} more` : "";
  const message = `Deletion waits for what still needs the account (${total}): ${names.join(", ")}${more}: delete it first`;
  return { reason: "InUse", message };
}

/** A sum that is not known is left out. */
function shownSpend({ day, week, month, unreadable, atMs }: Spend): NonNullable<AccountStatus["spend"]> {
  return {
    ...(day === undefined ? {} : { day: formatYuan(day) }),
    ...(week === undefined ? {} : { week: formatYuan(week) }),
    ...(month === undefined ? {} : { month: formatYuan(month) }),
    ...(unreadable === 0 ? {} : { unreadable }),
    asOf: rfc3339(atMs),
  };
}
