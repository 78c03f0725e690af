import type { Account, ClusterAccount } from "../api/v1alpha1/account.ts";
import { accountResource, clusterAccountResource } from "../api/v1alpha1/kinds.ts";
import type { AccountKey } from "../controllers/account/registry.ts";
import type { Resource } from "../kube/resource.ts";
import { keyOf } from "../kube/types.ts";
import type { Informers } from "./informers.ts";

export type Enqueue = (resource: Pick<Resource, "plural">, key: string) => void;

/** The accounts of the cluster, as objects and as the registry of their sessions. */
export type AccountAccess = {
  accountObject(key: AccountKey): Account | ClusterAccount | undefined;
  /** Reconciles the account now. */
  checkAccount(key: AccountKey): void;
};

export function createAccountAccess({ accounts, clusterAccounts }: Informers, enqueue: Enqueue): AccountAccess {
  const accountObject: AccountAccess["accountObject"] = (key) => {
    const separator = key.indexOf("/");
    const { store } = key.slice(0, separator) === "Account" ? accounts : clusterAccounts;
    return store.get(key.slice(separator + 1));
  };
  return {
    accountObject,
    checkAccount(key) {
      const object = accountObject(key);
      if (object === undefined) return;
      enqueue(key.startsWith("Account/") ? accountResource : clusterAccountResource, keyOf(object));
    },
  };
}
