import type { ClusterAccountSpec } from "../../api/v1alpha1/account.ts";
import { COMMANDS } from "../../api/v1alpha1/commands.ts";
import type { Clock } from "../../base/clock.ts";
import { ownValue } from "../../base/own-value.ts";
import { findObject, type KubeClient } from "../../kube/client.ts";
import { namespaceResource } from "../../kube/resource.ts";
import type { KubeObject } from "../../kube/types.ts";

/** `Keys`: of these identifiers; without one, none. `OwnShare`: no bill, only what the namespace itself costs. */
export type ReportableKeys = { kind: "All" } | { kind: "Keys"; keyIDs: readonly string[] } | { kind: "OwnShare" };

/** The labels of every namespace of the cluster. */
export type NamespaceLabels = ReadonlyMap<string, Record<string, string>>;

/** metav1.LabelSelector. */
export type LabelSelector = NonNullable<ClusterAccountSpec["allowedNamespaces"]>;

type Requirement = NonNullable<LabelSelector["matchExpressions"]>[number];

/** Whether labels match a selector; an empty selector matches everything (metav1.LabelSelector). */
export function matchesLabels(selector: LabelSelector, labels: Record<string, string>): boolean {
  return unmetBy(selector, labels).length === 0;
}

function unmetBy({ matchLabels = {}, matchExpressions = [] }: LabelSelector, labels: Record<string, string>) {
  const exact = Object.entries(matchLabels).map(
    ([key, value]): Requirement => ({ key, operator: "In", values: [value] }),
  );
  return [...exact, ...matchExpressions].filter((requirement) => !isMet(requirement, labels));
}

function isMet({ key, operator, values = [] }: Requirement, labels: Record<string, string>): boolean {
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
}

/** Why a ClusterAccount does not serve a namespace with these labels, with the command that labels it. undefined: it serves it. */
export function namespaceRefusal(
  account: string,
  selector: LabelSelector,
  namespace: string,
  labels: Record<string, string>,
): string | undefined {
  const unmet = unmetBy(selector, labels);
  if (unmet.length === 0) return undefined;
  const args = unmet.map(labelArgument);
  const isSettable = args.every((arg) => SAFE_LABEL.test(arg)) && unmet.every(({ key }) => key !== NAME_LABEL);
  const remedy = isSettable
    ? `label the namespace: ${COMMANDS.labelNamespace(namespace, args)} , or use another account`
    : "change spec.allowedNamespaces of the ClusterAccount, or use another account";
  return `ClusterAccount ${account} does not allow namespace ${namespace}: ${remedy}`;
}

/** The API server sets it to the name of the namespace, and nobody can change it. */
const NAME_LABEL = "kubernetes.io/metadata.name";
/** What a shell takes without quotes. */
const SAFE_LABEL = /^[A-Za-z0-9][-A-Za-z0-9_./]*(=[-A-Za-z0-9_.]*|-)$/;

/** The argument of `kubectl label` after which a namespace meets a requirement. */
function labelArgument({ key, operator, values = [] }: Requirement): string {
  if (operator === "In") return `${key}=${values[0] ?? ""}`;
  return operator === "Exists" ? `${key}=true` : `${key}-`;
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

/** The labels of the cluster's namespaces. They are read when somebody asks: there is no watch to keep up. */
export type Namespaces = {
  /** Of one namespace, by `get`, at most once in 30 s each. A namespace that does not exist has none. */
  labels(namespace: string): Promise<Record<string, string>>;
  /** Of all, by one list in 30 s. With `including`, a list that does not have this namespace is read again. */
  all(including?: string): Promise<NamespaceLabels>;
  /** What the last list showed. */
  known(): NamespaceLabels;
};

export function createNamespaces(kube: Pick<KubeClient, "get" | "list">, clock: Clock): Namespaces {
  const single = new Map<string, { at: number; labels: Promise<Record<string, string>> }>();
  let known: NamespaceLabels = new Map();
  let reading: { at: number; labels: Promise<NamespaceLabels> } | undefined;

  function list(maxAgeMs: number): Promise<NamespaceLabels> {
    if (reading !== undefined && clock.monotonic() - reading.at < maxAgeMs) return reading.labels;
    const labels = listLabels(kube).then((found) => {
      known = found;
      return found;
    });
    reading = { at: clock.monotonic(), labels };
    labels.catch(() => {
      reading = undefined;
    });
    return labels;
  }

  return {
    labels(namespace) {
      const cached = single.get(namespace);
      if (cached !== undefined && clock.monotonic() - cached.at < LABELS_MS) return cached.labels;
      const labels = readLabels(kube, namespace);
      single.set(namespace, { at: clock.monotonic(), labels });
      labels.catch(() => single.delete(namespace));
      return labels;
    },
    async all(including) {
      const found = await list(LABELS_MS);
      return including === undefined || found.has(including) ? found : list(NEW_MS);
    },
    known: () => known,
  };
}

const LABELS_MS = 30_000;
/** A namespace that is missing in a list may be new. */
const NEW_MS = 1_000;
const PAGE = 500;

async function readLabels(kube: Pick<KubeClient, "get">, name: string): Promise<Record<string, string>> {
  const namespace = await findObject<KubeObject>(kube, namespaceResource, { name });
  return namespace?.metadata.labels ?? {};
}

async function listLabels(kube: Pick<KubeClient, "list">): Promise<NamespaceLabels> {
  const labels = new Map<string, Record<string, string>>();
  let next: string | undefined;
  do {
    const query = { limit: PAGE, ...(next === undefined ? {} : { continue: next }) };
    const page = await kube.list<KubeObject>(namespaceResource, {}, { query });
    for (const { metadata } of page.items) labels.set(metadata.name, metadata.labels ?? {});
    next = page.metadata.continue || undefined;
  } while (next !== undefined);
  return labels;
}
