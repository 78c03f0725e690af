import type { Account, ClusterAccount } from "../api/v1alpha1/account.ts";
import type { GpuEndpoint } from "../api/v1alpha1/gpu-endpoint.ts";
import { mediaBatchResource } from "../api/v1alpha1/kinds.ts";
import { FINALIZER } from "../api/v1alpha1/meta.ts";
import { type AccountKey, type AccountRegistry, accountKey } from "../controllers/account/registry.ts";
import type { Servers } from "../controllers/account/servers.ts";
import type { StoreKey, StoreRegistry } from "../controllers/artifact-store/registry.ts";
import { claimIndexers, freesTargets } from "../controllers/gpu-endpoint/claims.ts";
import { batchOf } from "../controllers/jobs/batch-owner.ts";
import { sourceIndex } from "../controllers/jobs/sources.ts";
import type { Resource } from "../kube/resource.ts";
import { keyOf } from "../kube/types.ts";
import type { Members } from "../runtime/members.ts";
import { type AnyKind, type Informers, jobInformersOf, kindsOf } from "./informers.ts";
import type { Ownership } from "./ownership.ts";

export type WatchOptions = {
  informers: Informers;
  accounts: AccountRegistry;
  servers: Pick<Servers, "onChange" | "serves">;
  members: Pick<Members, "isFirst" | "onChange">;
  ownership: Pick<Ownership, "accountOf">;
  stores: StoreRegistry;
  accountObject: (key: AccountKey) => Account | ClusterAccount | undefined;
  enqueue: (resource: Resource, key: string) => void;
  checkAccount: (key: AccountKey) => void;
  /** UID of the namespace kube-system: a part of generated app names. */
  clusterUID: string;
};

/** Secondary watches: enqueues the dependants of a changed object, as the table of kinds names them. */
export function watchEachOther(options: WatchOptions): void {
  const kinds = kindsOf(options.informers, options.clusterUID);
  watchAccounts(options, kinds);
  watchMembers(options, kinds);
  watchStores(options, kinds);
  watchDependants(options, kinds);
  watchClaims(options);
  watchRequests(options, kinds);
  watchSources(options, kinds);
  watchBatchJobs(options, kinds);
}

/** Objects that use an account hear of its changes; a new or deleted one changes what a reference without a name means. */
function watchAccounts({ informers, accounts, servers, enqueue }: WatchOptions, kinds: readonly AnyKind[]): void {
  const dependants = kinds.filter(({ row }) => row.account !== undefined);
  const enqueueDependants = (account: AccountKey): void => enqueueByIndex(dependants, "account", account, enqueue);
  accounts.onChange(enqueueDependants);
  // A ClusterAccount is probed before an object needs it. An account that is not probed yet changes after its probe.
  servers.onChange((account) => {
    if (!servers.serves(account) || accounts.get(account)?.state.kind === "Ready") enqueueDependants(account);
  });
  for (const [kind, informer] of [
    ["Account", informers.accounts],
    ["ClusterAccount", informers.clusterAccounts],
  ] as const) {
    informer.onChange((change) => {
      if (change.type === "Modified") return;
      const { name, namespace } = change.object.metadata;
      enqueueDependants(accountKey(kind, name, namespace));
    });
  }
}

/** Another process may have ended: its accounts are free, and what the first process does has to be done by the next one. */
function watchMembers(
  { members, ownership, informers, checkAccount, enqueue }: WatchOptions,
  kinds: readonly AnyKind[],
): void {
  let wasFirst = false;
  members.onChange(() => {
    for (const { metadata } of informers.accounts.store.list()) {
      checkAccount(accountKey("Account", metadata.name, metadata.namespace));
    }
    for (const { metadata } of informers.clusterAccounts.store.list()) {
      checkAccount(accountKey("ClusterAccount", metadata.name, undefined));
    }
    const isNew = members.isFirst() && !wasFirst;
    wasFirst = members.isFirst();
    if (!isNew) return;
    for (const { row, informer } of kinds) {
      if (row.account === undefined && row.inEachProcess !== true) continue;
      for (const object of informer.store.list()) {
        if (row.inEachProcess || ownership.accountOf(row, object) === undefined) enqueue(row.resource, keyOf(object));
      }
    }
  });
}

/** Objects that write to a store hear of its changes. */
function watchStores({ informers, stores, enqueue }: WatchOptions, kinds: readonly AnyKind[]): void {
  const writers = kinds.filter(({ row }) => row.writesToStore === true);
  const enqueueWriters = (key: StoreKey): void => enqueueByIndex(writers, "artifacts", key, enqueue);
  stores.onChange(enqueueWriters);
  informers.artifactStores.onChange(({ type, object }) => {
    if (type !== "Modified") enqueueWriters(keyOf(object));
  });
}

/** An account gets its finalizer with the first object that needs it. Its deletion continues with the last one. */
function watchDependants({ accountObject, checkAccount }: WatchOptions, kinds: readonly AnyKind[]): void {
  for (const { informer, keysIn } of kinds.filter(({ row }) => row.account === "Needs")) {
    informer.onChange(({ type, object }) => {
      if (type === "Modified") return;
      const key = keysIn("account", object).find((one) => accountObject(one) !== undefined);
      const account = key === undefined ? undefined : accountObject(key);
      if (key === undefined || account === undefined) return;
      const { finalizers = [], deletionTimestamp } = account.metadata;
      if (type === "Added" ? !finalizers.includes(FINALIZER) : deletionTimestamp !== undefined) checkAccount(key);
    });
  }
}

/** Jobs that wait for the results of a request hear when the job that sent it has ended. */
function watchRequests({ enqueue }: WatchOptions, kinds: readonly AnyKind[]): void {
  const jobs = kinds.filter(({ row }) => row.isJob === true);
  for (const { informer, keysIn } of jobs) {
    informer.onChange((change) => {
      const before = change.type === "Modified" ? change.previous : change.object;
      if (change.type === "Added") return;
      for (const key of keysIn("request", before)) {
        if (change.type === "Modified" && keysIn("request", change.object).includes(key)) continue;
        enqueueByIndex(jobs, "request", key, enqueue);
      }
    });
  }
}

/** Jobs that take the result of another one hear when that one appears, is in another phase or is gone. */
function watchSources({ informers, enqueue }: WatchOptions, kinds: readonly AnyKind[]): void {
  const jobs = kinds.filter(({ row }) => row.isJob === true);
  for (const { resource, onChange } of jobInformersOf(informers)) {
    onChange((change) => {
      const { metadata, status } = change.object;
      if (change.type === "Modified" && status?.phase === change.previous.status?.phase) return;
      const { kind } = resource;
      enqueueByIndex(jobs, "source", sourceIndex(metadata.namespace, { kind, name: metadata.name }), enqueue);
    });
  }
}

/** A batch hears of its jobs. */
function watchBatchJobs({ enqueue }: WatchOptions, kinds: readonly AnyKind[]): void {
  for (const { informer } of kinds.filter(({ row }) => row.isJob === true)) {
    informer.onChange(({ object: { metadata } }) => {
      const batch = batchOf(metadata);
      if (batch !== undefined) enqueue(mediaBatchResource, `${metadata.namespace}/${batch.name}`);
    });
  }
}

function enqueueByIndex(kinds: readonly AnyKind[], index: string, key: string, enqueue: WatchOptions["enqueue"]): void {
  for (const { row, informer } of kinds) {
    for (const object of informer.store.byIndex(index, key)) enqueue(row.resource, keyOf(object));
  }
}

/** Objects that wait for an endpoint or an app name hear when its owner is deleted or bound to another one. */
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
