import type { Submission } from "../api/v1alpha1/meta.ts";
import { type AccountUser, accountOfResources, accountToUse } from "../controllers/account/binding.ts";
import { type AccountKey, accountKey, possibleAccounts } from "../controllers/account/registry.ts";
import { unshownCreateOf } from "../controllers/gpu-endpoint/memory.ts";
import type { Resource } from "../kube/resource.ts";
import type { KubeObject } from "../kube/types.ts";
import { createShardMembership, type Shard } from "./shard.ts";

/** An object that uses an account. */
export type Dependant = AccountUser & {
  status?: { submission?: Submission | undefined; phase?: unknown } | undefined;
};

/**
 * Which objects a shard has: accounts by their name, and each other object with the account that serves it. The answer depends on the
 * object, and for an object without `accountRef` on which default account exists.
 */
export type Ownership = {
  hasAccount(key: AccountKey): boolean;
  /** Whether this shard has the object now. */
  owns(row: OwnedRow, object: KubeObject): boolean;
  /** Whether it can have the object without a change of the object: when a default account is created or deleted. */
  mayOwn(row: OwnedRow, object: KubeObject): boolean;
  /** The objects that the metrics of this shard count. */
  reported<T extends KubeObject>(row: OwnedRow, objects: Iterable<T>): Iterable<T>;
};

/** What a row of the table of kinds says of its owner. */
export type OwnedRow = {
  resource: Pick<Resource, "kind">;
  account?: "Waits" | "Needs" | undefined;
  inEachShard?: boolean | undefined;
};

/** Phases of a job that has a task, a result or an unknown outcome at the account that its status shows. */
const PHASES_WITH_RESOURCES: readonly unknown[] = ["Queued", "Running", "Storing", "Halted", "Succeeded", "Failed"];

/** @param exists whether there is an account object of this key */
export function createOwnership(shard: Shard, exists: (key: AccountKey) => boolean): Ownership {
  const isOwn = createShardMembership(shard);

  function accountsOf(row: OwnedRow, object: KubeObject): AccountKey[] {
    const { name, namespace } = object.metadata;
    const dependant = dependantOf(row, object);
    if (dependant !== undefined) return candidatesOf(dependant);
    return [accountKey(row.resource.kind === "Account" ? "Account" : "ClusterAccount", name, namespace)];
  }

  function owns(row: OwnedRow, object: KubeObject): boolean {
    if (shard.count === 1 || row.inEachShard === true) return true;
    const candidates = accountsOf(row, object);
    const [first = ""] = candidates;
    return isOwn(candidates.find(exists) ?? first);
  }

  return {
    hasAccount: isOwn,
    owns,
    mayOwn(row, object) {
      if (shard.count === 1 || row.inEachShard === true) return true;
      return accountsOf(row, object).some(isOwn);
    },
    reported(row, objects) {
      if (shard.count === 1) return objects;
      if (row.inEachShard === true) return shard.index === 0 ? objects : [];
      return [...objects].filter((object) => owns(row, object));
    },
  };
}

/** The object, if it is of a kind that uses an account: all of these have the fields of `Dependant`. */
export function dependantOf({ account }: Pick<OwnedRow, "account">, object: KubeObject): Dependant | undefined {
  return account === undefined ? undefined : (object as Dependant);
}

/**
 * The accounts that may serve an object, the preferred one first: the first that exists does. While a request is under way, after a job
 * was submitted, and when the object is deleted, it is the one that knows the request.
 */
export function candidatesOf(object: Dependant): AccountKey[] {
  const { metadata, status } = object;
  const create = unshownCreateOf(object);
  const hasResources =
    create !== undefined ||
    metadata.deletionTimestamp !== undefined ||
    status?.submission?.state === "Intended" ||
    PHASES_WITH_RESOURCES.includes(status?.phase);
  return possibleAccounts(
    hasResources ? accountOfResources(object, create?.account) : accountToUse(object),
    metadata.namespace,
  );
}

/** What lookups across accounts read of an object: the owner of an endpoint, of an app name or of a task. */
const READ_BY_OTHERS = {
  spec: ["accountRef", "appName", "adoption", "output"],
  status: ["account", "submission", "phase", "endpointID", "appName", "taskID"],
};

/** Drops from an object of another shard what this one does not read. Metadata and indexed fields stay. */
export function dropUnread(object: KubeObject): void {
  dropOthers(object.spec, READ_BY_OTHERS.spec);
  dropOthers(object.status, READ_BY_OTHERS.status);
}

function dropOthers(part: unknown, kept: readonly string[]): void {
  if (typeof part !== "object" || part === null) return;
  for (const name of Object.keys(part)) if (!kept.includes(name)) Reflect.deleteProperty(part, name);
}
