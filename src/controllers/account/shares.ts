import type { ClusterAccountSpec } from "../../api/v1alpha1/account.ts";
import type { AccountShare } from "../../api/v1alpha1/account-shares.ts";
import { formatYuan, parseYuan } from "../../base/money.ts";
import type { Pool } from "../../submission/division.ts";
import type { Cause } from "../verdict.ts";
import { type LabelSelector, matchesLabels, type NamespaceLabels } from "./namespaces.ts";

/** What of an account a namespace may use. `Whole`: the account has no shares. `None`: no share selects the namespace. */
export type ShareOf = { kind: "Whole" } | { kind: "None"; message: string } | { kind: "Share"; share: AccountShare };

/** The share of a namespace with these labels: the first that selects it. `account`: as messages call it. */
export function shareOf(
  shares: readonly AccountShare[] | undefined,
  { account, namespace, labels }: { account: string; namespace: string; labels: Record<string, string> },
): ShareOf {
  if (shares === undefined) return { kind: "Whole" };
  const share = shares.find(({ namespaceSelector }) => matchesLabels(namespaceSelector, labels));
  if (share !== undefined) return { kind: "Share", share };
  const message = `${account} is divided into shares, and none selects namespace ${namespace}: label the namespace as a share asks for, or add a share (spec.shares)`;
  return { kind: "None", message };
}

/** The pool of each namespace that a share selects. */
export function poolsByNamespace(
  shares: readonly AccountShare[],
  namespaces: NamespaceLabels,
  allowed?: LabelSelector,
): Map<string, Pool> {
  const pools = new Map<string, Pool>();
  for (const { share, names } of selections(shares, namespaces, allowed)) {
    const groups = share.per === "Together" ? [names.own] : names.own.map((name) => [name]);
    for (const group of groups) {
      const pool = poolOf(share, group);
      for (const namespace of group) pools.set(namespace, pool);
    }
  }
  return pools;
}

function poolOf({ name, weight, limits }: AccountShare, namespaces: readonly string[]): Pool {
  const money = (amount: string | undefined) => (amount === undefined ? undefined : parseYuan(amount));
  return {
    share: name,
    weight,
    namespaces,
    concurrentTasks: limits.concurrentTasks,
    requestsPerMinute: limits.requestsPerMinute,
    dailyLimit: money(limits.dailyLimit),
    monthlyLimit: money(limits.monthlyLimit),
  };
}

/** `own`: namespaces that belong to the share. `others`: those that it selects and an earlier share has. */
type Selection = { share: AccountShare; names: { own: string[]; others: { namespace: string; share: string }[] } };

function selections(
  shares: readonly AccountShare[],
  namespaces: NamespaceLabels,
  allowed: LabelSelector = {},
): Selection[] {
  const owners = new Map<string, string>();
  return shares.map((share) => {
    const names: Selection["names"] = { own: [], others: [] };
    for (const [namespace, labels] of namespaces) {
      if (!matchesLabels(share.namespaceSelector, labels) || !matchesLabels(allowed, labels)) continue;
      const owner = owners.get(namespace);
      if (owner !== undefined) names.others.push({ namespace, share: owner });
      else {
        owners.set(namespace, share.name);
        names.own.push(namespace);
      }
    }
    return { share, names };
  });
}

/** Most names in a message. */
const SHOWN_NAMES = 5;

/** What is wrong with the shares of an account, with the numbers. Empty: nothing. */
export function shareFaults(spec: ClusterAccountSpec, namespaces: NamespaceLabels): string[] {
  const selected = selections(spec.shares ?? [], namespaces, spec.allowedNamespaces);
  const faults: string[] = [];
  for (const { share, names } of selected) {
    const { own, others } = names;
    if (own.length + others.length === 0) {
      faults.push(`share ${share.name} selects none of ${namespaces.size} namespaces`);
    }
    if (others.length > 0) {
      const shown = others.slice(0, SHOWN_NAMES).map((one) => `${one.namespace} (of share ${one.share})`);
      const more = others.length > SHOWN_NAMES ? ` and ${others.length - SHOWN_NAMES} more` : "";
      faults.push(`share ${share.name} also selects ${shown.join(", ")}${more}, which the earlier share keeps`);
    }
  }
  return [...faults, ...sumFaults(spec, selected)];
}

function sumFaults({ budget, ...spec }: ClusterAccountSpec, selected: readonly Selection[]): string[] {
  const sum = (limitOf: (limits: AccountShare["limits"]) => bigint | undefined) =>
    selected.reduce((total, { share, names }) => {
      const pools = share.per === "Together" ? 1 : names.own.length;
      return total + (limitOf(share.limits) ?? 0n) * BigInt(pools);
    }, 0n);
  const tasks = sum(({ concurrentTasks }) => (concurrentTasks === undefined ? undefined : BigInt(concurrentTasks)));
  const requests = sum(({ requestsPerMinute: limit }) => (limit === undefined ? undefined : BigInt(limit)));
  const money = sum(({ monthlyLimit }) => (monthlyLimit === undefined ? undefined : parseYuan(monthlyLimit)));
  const rate = Math.floor(spec.rateLimit.requestsPerSecond * 60);
  const faults: string[] = [];
  if (spec.maxConcurrentTasks !== undefined && tasks > BigInt(spec.maxConcurrentTasks)) {
    faults.push(`limits.concurrentTasks add up to ${tasks}, maxConcurrentTasks is ${spec.maxConcurrentTasks}`);
  }
  if (requests > BigInt(rate)) {
    faults.push(`limits.requestsPerMinute add up to ${requests}, rateLimit allows ${rate} a minute`);
  }
  if (budget?.monthlyLimit !== undefined && money > parseYuan(budget.monthlyLimit)) {
    faults.push(
      `limits.monthlyLimit add up to ${formatYuan(money)} yuan, budget.monthlyLimit is ${budget.monthlyLimit}`,
    );
  }
  return faults;
}

/** Why a namespace gets no new work of an account with shares. */
export function shareRefusal(found: ShareOf): (Cause & { reason: "ShareNotFound" }) | undefined {
  return found.kind === "None" ? { reason: "ShareNotFound", message: found.message } : undefined;
}
