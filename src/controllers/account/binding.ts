import type { AccountRef, AccountRefOrBinding, BoundAccount } from "../../api/v1alpha1/meta.ts";
import type { NamespacedObject } from "../../kube/types.ts";
import { type AccountKey, accountKey, possibleAccounts } from "./registry.ts";

/** An object of a kind that uses an account. */
export type AccountUser = NamespacedObject<
  { accountRef?: AccountRef | undefined },
  { account?: BoundAccount | undefined } | undefined
>;

export function baseURLOf(ref: AccountRefOrBinding | undefined): string | undefined {
  return ref !== undefined && "baseURL" in ref ? ref.baseURL : undefined;
}

/**
 * The account that an object uses: the one in its spec, else the one that it used first (`status.account`). Undefined: the default account of
 * its namespace. So a default account that is created or deleted moves no object, and only a user does, with `spec.accountRef`.
 */
export function accountToUse({ spec, status }: AccountUser): AccountRefOrBinding | undefined {
  return spec.accountRef ?? status?.account;
}

/**
 * The account that knows what was created or submitted for an object: the one that the request was sent to. A changed `spec.accountRef`
 * does not move that.
 * @param sentTo the account of a request whose outcome the status does not show
 */
export function accountOfResources(user: AccountUser, sentTo?: BoundAccount): AccountRefOrBinding | undefined {
  return sentTo ?? user.status?.account ?? user.spec.accountRef;
}

/** The accounts that an object may use, or that know what it created; the index by which dependants are found. */
export function accountsOf(user: AccountUser): AccountKey[] {
  const { namespace } = user.metadata;
  const [known, used] = [accountOfResources(user), accountToUse(user)];
  const keys = possibleAccounts(known, namespace);
  return known === used ? keys : [...new Set([...keys, ...possibleAccounts(used, namespace)])];
}

/** The base URL at which an object is bound to this account; undefined: it is not bound, or to another account. */
export function boundBaseURL(user: AccountUser, key: AccountKey): string | undefined {
  return boundKey(user) === key ? user.status?.account?.baseURL : undefined;
}

/** What an object is bound to, as a key; undefined: nothing yet. */
export function boundKey({ metadata, status }: AccountUser): AccountKey | undefined {
  const bound = status?.account;
  return bound && accountKey(bound.kind, bound.name, metadata.namespace);
}
