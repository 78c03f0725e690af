import type { Account, ClusterAccount } from "../api/v1alpha1/account.ts";
import type { GpuEndpoint } from "../api/v1alpha1/gpu-endpoint.ts";
import { FINALIZER } from "../api/v1alpha1/meta.ts";
import type { Dependants } from "../controllers/account/dependants.ts";
import { type AccountKey, type AccountRegistry, accountKey } from "../controllers/account/registry.ts";
import type { StoreKey, StoreRegistry } from "../controllers/artifact-store/registry.ts";
import { claimIndexers, freesTargets } from "../controllers/gpu-endpoint/claims.ts";
import type { Resource } from "../kube/resource.ts";
import { keyOf } from "../runtime/store.ts";
import type { Informers } from "./informers.ts";

export type WatchOptions = {
  informers: Informers;
  accounts: AccountRegistry;
  stores: StoreRegistry;
  dependants: Pick<Dependants, "all">;
  accountObject: (key: AccountKey) => Account | ClusterAccount | undefined;
  enqueue: (resource: Resource, key: string) => void;
  checkAccount: (key: AccountKey) => void;
  /** UID of the namespace kube-system: a part of generated app names. */
  clusterUID: string;
};

/** Secondary watches: a change of one object is the business of others. */
export function watchEachOther(options: WatchOptions): void {
  watchAccounts(options);
  watchStores(options);
  watchDependants(options);
  watchClaims(options);
}

/** Whoever uses an account hears of it; a new or deleted one changes what a reference without a name means. */
function watchAccounts({ informers, accounts, dependants, enqueue }: WatchOptions): void {
  const enqueueDependants = (account: AccountKey): void => {
    for (const { resource, key } of dependants.all(account)) enqueue(resource, key);
  };
  accounts.onChange(enqueueDependants);
  for (const kind of [informers.accounts, informers.clusterAccounts]) {
    kind.onChange((change) => {
      if (change.type === "Modified") return;
      const { name, namespace } = change.object.metadata;
      enqueueDependants(accountKey(kind === informers.accounts ? "Account" : "ClusterAccount", name, namespace));
    });
  }
}

/** Whoever writes to a store hears of it. */
function watchStores({ informers, stores, enqueue }: WatchOptions): void {
  const enqueueWriters = (key: StoreKey): void => {
    for (const { resource, store } of [informers.speechJobs, informers.videoJobs, informers.billReports]) {
      for (const object of store.byIndex("artifacts", key)) enqueue(resource, keyOf(object));
    }
  };
  stores.onChange(enqueueWriters);
  informers.artifactStores.onChange(({ type, object }) => {
    if (type !== "Modified") enqueueWriters(keyOf(object));
  });
}

/** An account gets its finalizer with its first dependant, and its deletion goes on with the last one. */
function watchDependants({ informers, accounts, accountObject, checkAccount }: WatchOptions): void {
  for (const kind of [informers.endpoints, informers.speechJobs, informers.videoJobs]) {
    kind.onChange(({ type, object }) => {
      if (type === "Modified") return;
      const key = accounts.keyOf(object.spec.accountRef, object.metadata.namespace ?? "");
      const account = key === undefined ? undefined : accountObject(key);
      if (key === undefined || account === undefined) return;
      const { finalizers = [], deletionTimestamp } = account.metadata;
      if (type === "Added" ? !finalizers.includes(FINALIZER) : deletionTimestamp !== undefined) checkAccount(key);
    });
  }
}

/** Who is denied an endpoint or an app name hears when the object that has it goes or is bound to something else. */
function watchClaims({ informers: { endpoints }, clusterUID, enqueue }: WatchOptions): void {
  const indexers = Object.entries(claimIndexers(clusterUID));
  const enqueueRivals = (object: GpuEndpoint): void => {
    for (const [index, indexer] of indexers) {
      for (const value of indexer(object)) {
        for (const rival of endpoints.store.byIndex(index, value)) {
          if (rival.metadata.uid !== object.metadata.uid) enqueue(endpoints.resource, keyOf(rival));
        }
      }
    }
  };
  endpoints.onChange((change) => {
    if (change.type === "Deleted") enqueueRivals(change.object);
    else if (change.type === "Modified" && freesTargets(change.previous, change.object)) enqueueRivals(change.previous);
  });
}
