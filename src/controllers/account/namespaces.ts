import type { ClusterAccountSpec } from "../../api/v1alpha1/account.ts";
import type { Clock } from "../../base/clock.ts";
import { ownValue } from "../../base/own-value.ts";
import { findObject, type KubeClient } from "../../kube/client.ts";
import { namespaceResource } from "../../kube/resource.ts";
import type { KubeObject } from "../../kube/types.ts";
import type { ReportableKeys } from "./registry.ts";

/** metav1.LabelSelector. */
export type LabelSelector = NonNullable<ClusterAccountSpec["allowedNamespaces"]>;

/** Whether labels match a selector; an empty selector matches everything (metav1.LabelSelector). */
export function matchesLabels(selector: LabelSelector, labels: Record<string, string>): boolean {
  const exact = Object.entries(selector.matchLabels ?? {}).every(([key, value]) => ownValue(labels, key) === value);
  return (
    exact &&
    (selector.matchExpressions ?? []).every(({ key, operator, values = [] }) => {
      const value = ownValue(labels, key);
      switch (operator) {
        case "In":
          return value !== undefined && values.includes(value);
        case "NotIn":
          return value === undefined || !values.includes(value);
        case "Exists":
          return value !== undefined;
        case "DoesNotExist":
          return value === undefined;
      }
      return false;
    })
  );
}

/** The API keys whose bills BillReports of a namespace with these labels cover (ClusterAccount.spec.spending.reports). */
export function reportableKeys(
  spending: ClusterAccountSpec["spending"],
  labels: Record<string, string>,
): ReportableKeys {
  const entries = (spending?.reports ?? []).filter(({ namespaces }) => matchesLabels(namespaces, labels));
  const bills = entries.filter(({ show }) => show !== "OwnShare");
  if (bills.some(({ keyIDs }) => keyIDs === undefined)) return { kind: "All" };
  const keyIDs = [...new Set(bills.flatMap((entry) => entry.keyIDs ?? []))].sort();
  return keyIDs.length === 0 && entries.length > bills.length ? { kind: "OwnShare" } : { kind: "Keys", keyIDs };
}

/** Reads a namespace's labels by `get`, at most once in 30 s each: there is no watch of namespaces to keep up. */
export function createNamespaceLabels(
  kube: KubeClient,
  clock: Clock,
): (namespace: string) => Promise<Record<string, string>> {
  const known = new Map<string, { at: number; labels: Promise<Record<string, string>> }>();
  return (namespace) => {
    const cached = known.get(namespace);
    if (cached !== undefined && clock.monotonic() - cached.at < LABELS_MS) return cached.labels;
    const labels = readLabels(kube, namespace);
    known.set(namespace, { at: clock.monotonic(), labels });
    labels.catch(() => known.delete(namespace));
    return labels;
  };
}

const LABELS_MS = 30_000;

async function readLabels(kube: KubeClient, name: string): Promise<Record<string, string>> {
  const namespace = await findObject<KubeObject>(kube, namespaceResource, { name });
  return namespace?.metadata.labels ?? {};
}
