import { getCondition, isTrue } from "../api/v1alpha1/conditions.ts";
import { accountResource, billReportResource, clusterAccountResource } from "../api/v1alpha1/kinds.ts";
import type { ClusterSession } from "./cluster-session.ts";
import type { UiObject } from "./ui-object.ts";
import type { AccountSpending, Amount, ReportSpending, SpendingView } from "./view-types.ts";

/** Spending and budgets as the accounts and the bill reports of the cluster show them. Amounts are in yuan. */
export function spendingView(session: ClusterSession): SpendingView {
  const accounts = [accountResource.kind, clusterAccountResource.kind].flatMap((kind) =>
    session.objects(kind).map((object) => accountSpending(kind, object)),
  );
  return {
    accounts: accounts.sort(byName),
    reports: session.objects(billReportResource.kind).map(reportSpending).sort(byName),
  };
}

function byName(a: { namespace: string; name: string }, b: { namespace: string; name: string }): number {
  return a.namespace.localeCompare(b.namespace) || a.name.localeCompare(b.name);
}

function accountSpending(kind: string, { metadata, spec, status }: UiObject): AccountSpending {
  const { spend, conditions } = status ?? {};
  const exceeded = getCondition(conditions, "BudgetExceeded");
  return {
    kind,
    namespace: metadata.namespace ?? "",
    name: metadata.name,
    spend: spend && { day: yuan(spend.day), week: yuan(spend.week), month: yuan(spend.month), asOf: spend.asOf },
    monthlyLimit: yuan(spec.budget?.monthlyLimit),
    budgets: (status?.budgets ?? []).map(({ keyID, keyName, type, limit, used, remaining }) => ({
      key: keyName === undefined || keyName === "" ? keyID : keyName,
      type,
      limit: yuan(limit),
      used: yuan(used),
      remaining: yuan(remaining),
    })),
    exceeded: isTrue(conditions, "BudgetExceeded") ? exceeded?.message : undefined,
  };
}

function reportSpending({ metadata, status }: UiObject): ReportSpending {
  const {
    period,
    totals,
    byProduct = [],
    byCategory = [],
    byKey = [],
    byDate = [],
    asOf,
    final = false,
  } = status ?? {};
  return {
    namespace: metadata.namespace ?? "",
    name: metadata.name,
    period: period === undefined ? "" : `${period.startTime.slice(0, 10)} to ${period.endTime.slice(0, 10)}`,
    total: yuan(totals?.amount),
    asOf,
    final,
    byProduct: byProduct.flatMap(({ productName, amount }) => bar(productName, amount)),
    byCategory: byCategory.flatMap(({ category, amount }) => bar(category, amount)),
    byKey: byKey.flatMap(({ keyName, keyID, amount }) => bar(keyName || keyID, amount)),
    byDate: byDate.flatMap(({ date, amount }) => bar(date, amount)),
  };
}

/** For plots only: an amount with 15 digits has no exact number. */
function yuan(text: string | undefined): number | undefined {
  const value = Number(text);
  return text === undefined || text === "" || !Number.isFinite(value) ? undefined : value;
}

function bar(label: string, amount: string): Amount[] {
  const value = yuan(amount);
  return value === undefined ? [] : [{ label, amount: value }];
}
