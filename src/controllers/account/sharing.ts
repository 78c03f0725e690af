import type { AccountShare } from "../../api/v1alpha1/account-shares.ts";
import type { Division, Pool } from "../../submission/division.ts";
import type { LabelSelector, NamespaceLabels, Namespaces } from "./namespaces.ts";
import { poolsByNamespace, type ShareOf, shareOf } from "./shares.ts";

/** How one account is divided, as its spec and the labels of the namespaces say now. The one place that tells what a namespace may do. */
export type Sharing = {
  /** The share of a namespace. Reads its labels, at most 30 s old. */
  share(namespace: string): Promise<ShareOf>;
  /** The same by the labels that were read last. undefined: none. */
  known(namespace: string): AccountShare | undefined;
  /** undefined: the account has no shares. */
  division(): Division | undefined;
  /** The pool of each namespace that a share selects. */
  pools(): ReadonlyMap<string, Pool>;
};

export type SharingOptions = Pick<Division, "costOf"> & {
  /** As messages call it. */
  account: string;
  shares: () => readonly AccountShare[] | undefined;
  allowed: LabelSelector | undefined;
  namespaces: Pick<Namespaces, "all" | "known">;
  /** What namespaces have cost. */
  spent: (namespaces: readonly string[]) => ReturnType<Division["spent"]>;
};

export function createSharing({ account, shares, allowed, namespaces, costOf, spent }: SharingOptions): Sharing {
  let last: { shares: readonly AccountShare[]; labels: NamespaceLabels; pools: Map<string, Pool> } | undefined;

  function pools(): ReadonlyMap<string, Pool> {
    const now = { shares: shares() ?? [], labels: namespaces.known() };
    if (last === undefined || last.shares !== now.shares || last.labels !== now.labels) {
      last = { ...now, pools: poolsByNamespace(now.shares, now.labels, allowed) };
    }
    return last.pools;
  }

  const division: Division = {
    poolOf: (namespace) => pools().get(namespace),
    spent: (pool) => spent(pool.namespaces),
    costOf,
  };

  return {
    async share(namespace) {
      const labels = shares() === undefined ? {} : ((await namespaces.all(namespace)).get(namespace) ?? {});
      return shareOf(shares(), { account, namespace, labels });
    },
    known: (namespace) => shares()?.find(({ name }) => name === pools().get(namespace)?.share),
    division: () => (shares() === undefined ? undefined : division),
    pools,
  };
}
