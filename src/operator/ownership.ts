import type { Submission } from "../api/v1alpha1/meta.ts";
import { type AccountUser, accountOfResources, accountToUse } from "../controllers/account/binding.ts";
import { type AccountKey, accountKey, possibleAccounts } from "../controllers/account/registry.ts";
import type { Servers } from "../controllers/account/servers.ts";
import { unshownCreateOf } from "../controllers/gpu-endpoint/memory.ts";
import type { Resource } from "../kube/resource.ts";
import type { KubeObject } from "../kube/types.ts";
import type { Members } from "../runtime/members.ts";
import { markPartial } from "../runtime/shortened.ts";

/** An object that uses an account. */
export type Dependant = AccountUser & {
  status?: { submission?: Submission | undefined; phase?: unknown } | undefined;
};

/**
 * Which objects this process has: the accounts that it serves, and each other object with its account. Objects without an existing account
 * belong to the first process. The answer depends on the object, and for an object without `accountRef` on which default account exists.
 */
export type Ownership = {
  /** The account of the object, or one that is deleted and that this process cleans up after. Undefined: none of those that could exists. */
  accountOf(row: OwnedRow, object: KubeObject): AccountKey | undefined;
  /** Whether this process has the object, or gets it without a change of the object: it stores all of it. */
  mayOwn(row: OwnedRow, object: KubeObject): boolean;
  /** Whether a change of the object concerns this process now. When it begins to serve an account, it hears of all objects of it. */
  concerns(row: OwnedRow, object: KubeObject): boolean;
  /** The objects that the metrics of this process count. */
  reported<T extends KubeObject>(row: OwnedRow, objects: Iterable<T>): T[];
};

/** What a row of the table of kinds says of its owner. */
export type OwnedRow = {
  resource: Pick<Resource, "kind">;
  account?: "Waits" | "Needs" | undefined;
  inEachProcess?: boolean | undefined;
};

type OwnershipOptions = {
  servers: Pick<Servers, "holds" | "serves" | "isFree" | "cleansUp">;
  members: Pick<Members, "isFirst">;
  /** Whether there is an account object of this key. */
  exists: (key: AccountKey) => boolean;
};

/** Phases of a job that has a task, a result or an unknown outcome at the account that its status shows. */
const PHASES_WITH_RESOURCES: readonly unknown[] = ["Queued", "Running", "Storing", "Halted", "Succeeded", "Failed"];

export function createOwnership({ servers, members, exists }: OwnershipOptions): Ownership {
  function accountsOf(row: OwnedRow, object: KubeObject): AccountKey[] {
    const { name, namespace } = object.metadata;
    const dependant = dependantOf(row, object);
    if (dependant !== undefined) return candidatesOf(dependant);
    return [accountKey(row.resource.kind === "Account" ? "Account" : "ClusterAccount", name, namespace)];
  }

  const accountOf: Ownership["accountOf"] = (row, object) => {
    const candidates = accountsOf(row, object);
    return candidates.find(exists) ?? candidates.find(servers.cleansUp);
  };

  function mayHave(row: OwnedRow, object: KubeObject, has: (key: AccountKey) => boolean): boolean {
    if (row.inEachProcess === true || row.account === undefined) return true;
    const candidates = accountsOf(row, object).filter(exists);
    return candidates.length === 0 || candidates.some((key) => has(key) || servers.isFree(key));
  }

  return {
    accountOf,
    mayOwn: (row, object) => mayHave(row, object, servers.holds),
    concerns: (row, object) => mayHave(row, object, servers.serves),
    reported(row, objects) {
      if (row.inEachProcess === true) return members.isFirst() ? [...objects] : [];
      return [...objects].filter((object) => {
        const account = accountOf(row, object);
        return account === undefined ? members.isFirst() : servers.holds(account);
      });
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
  status: ["account", "submission", "phase", "endpointID", "appName", "taskID", "reuseKey"],
};

/** Drops from an object of another process what this one does not read. Metadata and indexed fields stay. */
export function dropUnread(object: KubeObject): void {
  if (object.spec !== undefined) object.spec = only(READ_BY_OTHERS.spec, object.spec);
  if (object.status !== undefined) object.status = only(READ_BY_OTHERS.status, object.status);
  markPartial(object);
}

/** A new object: one whose fields were deleted takes several times the memory. */
function only(names: readonly string[], part: unknown): object {
  return Object.fromEntries(Object.entries(part ?? {}).filter(([name]) => names.includes(name)));
}
