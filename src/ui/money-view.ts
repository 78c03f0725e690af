import { getCondition, isTrue } from "../api/v1alpha1/conditions.ts";
import { accountResource, billReportResource, clusterAccountResource } from "../api/v1alpha1/kinds.ts";
import type { ClusterSession } from "./cluster-session.ts";
import type { UiObject } from "./ui-object.ts";
import type { AccountSpending, Amount, MoneyView, ReportSpending } from "./view-types.ts";

/** Spending and budgets as the accounts and the bill reports of the cluster show them. Amounts are in yuan. */
export function moneyView(session: ClusterSession): MoneyView {
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
  const shown = getCondition(conditions, "Ready");
  const ready = isTrue(conditions, "Ready");
  return {
    kind,
    namespace: metadata.namespace ?? "",
    name: metadata.name,
    spend: spend && { day: yuan(spend.day), week: yuan(spend.week), month: yuan(spend.month), asOf: spend.asOf },
    monthlyLimit: yuan(spec.budget?.monthlyLimit),
    ready,
    why: ready ? noAmounts(kind, spend) : `${shown?.reason ?? "Pending"}: ${shown?.message ?? "not checked yet"}`,
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

/** Why an account that is ready shows no amounts; "": it shows them. */
function noAmounts(kind: string, spend: object | undefined): string {
  if (spend !== undefined) return "";
  return kind === clusterAccountResource.kind
    ? "Amounts are hidden: spending.showInStatus is not true, or no bills are read yet."
    : "No bills are read: billing is off, or the first reading is under way.";
}

function reportSpending({ metadata, status }: UiObject): ReportSpending {
  const {
    period,
    totals,
    byProduct = [],
    byCategory = [],
    byKey = [],
    byDate = [],
    split,
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
    shares: [
      ...(split?.lines ?? []).flatMap(({ namespace: owner, kind = "", name: object = "", amount }) =>
        bar([owner, kind, object].filter((part) => part !== "").join(" "), amount),
      ),
      ...bar("all others", split?.others ?? ""),
      ...bar("not attributed", split?.unattributed ?? ""),
    ],
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
