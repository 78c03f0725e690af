import {
  type Account,
  type ClusterAccount,
  type ClusterAccountSpec,
  isClusterAccount,
} from "../../api/v1alpha1/account.ts";
import type { AccountShare } from "../../api/v1alpha1/account-shares.ts";
import { COMMANDS } from "../../api/v1alpha1/commands.ts";
import type { AccountRef, AccountRefOrBinding, BoundAccount } from "../../api/v1alpha1/meta.ts";
import type { Reason } from "../../api/v1alpha1/reasons.ts";
import type { AddressGuard } from "../../base/address-guard.ts";
import { isSameJSON } from "../../base/same-json.ts";
import type { EndpointLimits } from "../../provider/endpoints/limits.ts";
import type { KeyBudget } from "../../provider/money/money-records.ts";
import type { Operation } from "../../provider/operations.ts";
import type { AccountSession } from "../../provider/types.ts";
import type { Allowance, BudgetState } from "../../submission/allowance.ts";
import type { BudgetSpec } from "./budget.ts";
import type { ReportableKeys } from "./namespaces.ts";
import type { Sharing } from "./sharing.ts";
import type { MissingEndpoint } from "./vanished.ts";

/** `Account/NAMESPACE/NAME` or `ClusterAccount/NAME`. */
export type AccountKey = string;

export type AccountState =
  /** Not asked yet since the operator started or the key changed. */
  | { kind: "Checking" }
  | { kind: "Ready" }
  /**
   * Nothing may be sent; `message` is shown on every dependant. `cleanup`: the key or the account went away rather than
   * bad, so with what was last known of it objects that are deleted are still cleaned up after.
   */
  | { kind: "Held"; reason: Reason; message: string; cleanup?: boolean };

/** One account as its dependants use it: its session, its budget and who may use it. Replaced when its spec changes. */
export type AccountHandle = AccountSession & {
  readonly key: AccountKey;
  /** What `spec.budget` leaves; undefined without one. `keys` is undefined while statuses do not show it. */
  budget(): { spec: BudgetSpec; state: BudgetState; keys: readonly KeyBudget[] | undefined } | undefined;
  /** What new paid work has to wait for. */
  allowance(): Allowance;
  readonly maxSpeechCharacters: number;
  /** Judges every address that a result is copied from. */
  readonly resultLookup: AddressGuard;
  /** Whether jobs reuse results when neither they nor their store say it. */
  readonly reuse: boolean;
  /** Where the account sends an operation that has a path of its own; else the address of the service. */
  addressOf(operation: Operation): string;
  /** How many endpoints are bound to the account when nothing shows that the key sees them; else 0 (countVanished). */
  vanished(missing?: MissingEndpoint): number;
  /**
   * Identifies the current API key, and the settings that decide which endpoints it shows, without showing the key. It is the same
   * after a restart, and when the Secret has the key again. What the key shows in one version proves nothing about another.
   */
  keyVersion(): string;
  /** An HMAC of a value with the API key, for a status. Another key gives another one: compare only under the same `keyVersion`. */
  digest(value: unknown): string;
  /** Whether the account's spec has changed, so that another handle is about to replace this one: nothing new is sent with it. */
  isOutdated(): boolean;
  /** Why objects of a namespace may not use the account (ClusterAccount.spec.allowedNamespaces), and what to do; undefined: they may. */
  refusal(namespace: string): Promise<string | undefined>;
  /** The API keys whose bills BillReports of a namespace cover. The key of an Account is in the namespace: all. */
  reportableKeys(namespace: string): Promise<ReportableKeys>;
  /** What of the account each namespace may use (ClusterAccount.spec.shares). */
  readonly sharing: Sharing;
  /** Of a ClusterAccount: the namespace of its Secret. */
  readonly secretNamespace?: string | undefined;
};

export type Resolved =
  | { kind: "Usable"; account: AccountHandle; ref: AccountRef }
  /** Not known yet, for a moment after a start or a change; dependants are told when it is. */
  | { kind: "Checking" }
  /** Nothing may be sent now. `againMs`: nobody is told when that changes, so ask again then. */
  | { kind: "Held"; reason: Reason; message: string; ref: AccountRef | undefined; againMs?: number };

/** What accounts exist, which may be used, and who wants to hear when that changes. */
export type AccountRegistry = {
  /** The account that `ref` means in `namespace` (binding.ts). */
  resolve(ref: AccountRefOrBinding | undefined, namespace: string): Promise<Resolved>;
  /** The same, without asking whether it may be used; undefined when there is no such account. */
  keyOf(ref: AccountRef | undefined, namespace: string): AccountKey | undefined;
  /**
   * The account by which a deleted object is cleaned up after, even when its Secret or the account itself went first (a namespace is
   * deleted in any order). `allowedNamespaces` is not asked: what is there has to be cleaned up.
   */
  resolveCleanup(ref: AccountRef | undefined, namespace: string): Resolved;
  /** A call met 401: holds the account at once and has it checked. */
  unauthorized(key: AccountKey, message: string): void;
  /** A call met 403, which concerns the operation unless the probe fails too: has the account probed and holds nothing. */
  doubt(key: AccountKey): void;
  /** Call after call went without an answer: holds the account at once and has it checked. */
  unreachable(key: AccountKey, message: string): void;
  set(key: AccountKey, entry: AccountEntry): void;
  get(key: AccountKey): AccountEntry | undefined;
  remove(key: AccountKey): AccountEntry | undefined;
  entries(): Iterable<[AccountKey, AccountEntry]>;
  /** Called when an account becomes usable, is held, is replaced, or has other limits, other `shares` or another `spending`. */
  onChange(listener: (key: AccountKey) => void): void;
};

/** Labels of namespaces are read by `get`, not watched. */
export const LABELS_AGAIN_MS = 31_000;

export type AccountEntry = {
  state: AccountState;
  handle: AccountHandle | undefined;
  /** The endpoint parameter limits that the probe read last. */
  limits?: EndpointLimits | undefined;
  /** A 403 since the last probe. */
  doubted?: boolean;
  /** Who sees the account's bills. */
  spending?: ClusterAccountSpec["spending"];
  shares?: readonly AccountShare[];
};

export function accountKey(kind: AccountRef["kind"], name: string, namespace: string | undefined): AccountKey {
  return kind === "Account" ? `Account/${namespace}/${name}` : `ClusterAccount/${name}`;
}

export function keyOfAccount(account: Account | ClusterAccount): AccountKey {
  const { name, namespace } = account.metadata;
  return accountKey(isClusterAccount(account) ? "ClusterAccount" : "Account", name, namespace);
}

/** What an object is bound to that uses this account. */
export function boundTo({ key, baseURL }: Pick<AccountHandle, "key" | "baseURL">): BoundAccount {
  const { kind, name } = refOf(key);
  return { kind, name, baseURL };
}

/** Every account key that a reference may come to mean; the index by which dependants are found. */
export function possibleAccounts(ref: AccountRef | undefined, namespace: string): AccountKey[] {
  if (ref !== undefined) return [accountKey(ref.kind, ref.name, namespace)];
  return [accountKey("Account", "default", namespace), accountKey("ClusterAccount", "default", undefined)];
}

/** @param exists whether an account object of this key is in the cluster */
export function createAccountRegistry(
  exists: (key: AccountKey) => boolean,
  requestCheck: (key: AccountKey) => void,
): AccountRegistry {
  const entries = new Map<AccountKey, AccountEntry>();
  const listeners: ((key: AccountKey) => void)[] = [];

  function set(key: AccountKey, entry: AccountEntry): void {
    const previous = entries.get(key);
    entries.set(key, entry);
    // An account without an entry counts as one that is being checked.
    const isFirst = previous === undefined && entry.state.kind === "Checking";
    const same =
      previous !== undefined &&
      previous.handle === entry.handle &&
      sameState(previous.state, entry.state) &&
      isSameJSON(previous.limits, entry.limits) &&
      isSameJSON(previous.spending, entry.spending) &&
      isSameJSON(previous.shares, entry.shares);
    if (!same && !isFirst) for (const listener of listeners) listener(key);
  }

  function hold(key: AccountKey, reason: Reason, message: string): void {
    const entry = entries.get(key);
    if (entry === undefined || (entry.state.kind === "Held" && entry.state.cleanup !== true)) return;
    set(key, { ...entry, state: { kind: "Held", reason, message } });
    requestCheck(key);
  }

  /** Asks for one check, however many calls meet a 403 before the next probe. */
  function doubt(key: AccountKey): void {
    const entry = entries.get(key);
    if (entry?.state.kind !== "Ready" || entry.doubted === true) return;
    entries.set(key, { ...entry, doubted: true });
    requestCheck(key);
  }

  const keyOf = (ref: AccountRef | undefined, namespace: string) => possibleAccounts(ref, namespace).find(exists);

  return {
    set,
    keyOf,
    get: (key) => entries.get(key),
    entries: () => entries,
    onChange: (listener) => void listeners.push(listener),
    remove(key) {
      const entry = entries.get(key);
      if (entries.delete(key)) for (const listener of listeners) listener(key);
      return entry;
    },
    doubt,
    unauthorized: (key, message) => hold(key, "Unauthorized", message),
    unreachable: (key, message) => hold(key, "Unreachable", message),
    resolveCleanup(ref, namespace) {
      const keys = possibleAccounts(ref, namespace);
      const key = keys.find((one) => exists(one) || entries.has(one));
      if (key === undefined) {
        const message = `${keys.join(" and ")} does not exist (any more), and this process does not know its key: create it again with its Secret`;
        return { kind: "Held", reason: "AccountNotFound", message, ref: undefined };
      }
      const { state, handle } = entries.get(key) ?? { state: { kind: "Checking" }, handle: undefined };
      const resolved = refOf(key);
      if (state.kind === "Checking") return { kind: "Checking" };
      if (handle !== undefined && (state.kind === "Ready" || state.cleanup === true)) {
        return { kind: "Usable", account: handle, ref: resolved };
      }
      const [reason, message]: [Reason, string] =
        state.kind === "Held" ? [state.reason, state.message] : ["AccountNotReady", "it has no connection"];
      return {
        kind: "Held",
        reason,
        message: `${resolved.kind} ${resolved.name} is not ready: ${message}`,
        ref: resolved,
      };
    },
    async resolve(ref, namespace) {
      const key = keyOf(ref, namespace);
      if (key === undefined) {
        const message = notFound(ref, namespace, "create this object again with another accountRef");
        return { kind: "Held", reason: "AccountNotFound", message, ref: undefined };
      }
      const resolved = refOf(key);
      const entry = entries.get(key);
      if (entry?.handle !== undefined && entry.state.kind === "Ready") {
        if (entry.handle.isOutdated()) return { kind: "Checking" };
        const message = await entry.handle.refusal(namespace);
        if (message !== undefined) {
          return { kind: "Held", reason: "NamespaceNotAllowed", message, ref: resolved, againMs: LABELS_AGAIN_MS };
        }
        return { kind: "Usable", account: entry.handle, ref: resolved };
      }
      if (entry?.state.kind !== "Held") return { kind: "Checking" };
      const message = `${resolved.kind} ${resolved.name} is not ready: ${entry.state.message}`;
      return { kind: "Held", reason: "AccountNotReady", message, ref: resolved };
    },
  };
}

/** The account of a key, as a spec refers to it. */
export function refOf(key: AccountKey): AccountRef {
  const [kind, ...rest] = key.split("/");
  return { kind: kind === "Account" ? "Account" : "ClusterAccount", name: rest.at(-1) ?? "" };
}

function sameState(a: AccountState, b: AccountState): boolean {
  if (a.kind !== b.kind) return false;
  return (
    a.kind !== "Held" ||
    b.kind !== "Held" ||
    (a.reason === b.reason && a.message === b.message && a.cleanup === b.cleanup)
  );
}

/** What is said when a reference leads to no account. `alternative`: what to do instead of creating the account. */
export function notFound(ref: AccountRefOrBinding | undefined, namespace: string, alternative: string): string {
  const list = `To list the accounts: ${COMMANDS.listAccounts(namespace)}`;
  if (ref !== undefined && "baseURL" in ref) {
    return `this object is bound to ${nameOf(ref, namespace)}, which does not exist: create it again with its key, because no other account knows what was made with it. ${list}`;
  }
  const missing =
    ref === undefined
      ? `no Account "default" in namespace ${namespace} and no ClusterAccount "default": create one`
      : `${nameOf(ref, namespace)} does not exist: create it`;
  return `${missing}, or ${alternative}. ${list}`;
}

function nameOf({ kind, name }: AccountRef, namespace: string): string {
  return kind === "Account" ? `Account ${namespace}/${name}` : `ClusterAccount ${name}`;
}
