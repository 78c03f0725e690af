import { createHash } from "node:crypto";
import { refuse } from "./refusal.ts";

/** An API key as bills and budgets show it. */
export type KeyIdentity = { id: string; name: string; mask: string; hash: string; memberID: string };

export function hashKey(key: string): string {
  return createHash("sha256").update(key).digest("hex").slice(0, 12);
}

/** Returns the identity of the n-th valid key. Assumption: each key has its own member: member-1, member-2, ... */
export function identityOf(key: string, index: number): KeyIdentity {
  const hash = hashKey(key);
  return {
    id: `key-${hash}`,
    name: index === 0 ? "default" : `key ${index + 1}`,
    mask: `${key.slice(0, 2)}****${key.slice(-2)}`,
    hash,
    memberID: `member-${index + 1}`,
  };
}

/** The members whose endpoints a key sees; undefined: all of the account. */
export function membersSeenBy(key: KeyIdentity, keySees: "Account" | "Member"): string[] | undefined {
  return keySees === "Account" ? undefined : [key.memberID];
}

/** The key of `Authorization: Bearer KEY`, or "". */
export function bearerOf(header: string | undefined): string {
  return /^Bearer (\S+)$/.exec(header ?? "")?.[1] ?? "";
}

/** @throws Refusal 401 if the key is missing or not valid */
export function authenticate(header: string | undefined, validKeys: readonly string[]): KeyIdentity {
  const key = bearerOf(header);
  const index = key === "" ? -1 : validKeys.indexOf(key);
  if (index < 0) throw refuse.unauthorized();
  return identityOf(key, index);
}
