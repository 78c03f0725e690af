import { createHash } from "node:crypto";
import type { AccountKey } from "../controllers/account/registry.ts";

/** The part of the accounts that a process serves: number `index` (from 0) of `count`. */
export type Shard = { readonly index: number; readonly count: number };

/** The only shard of an installation that is not divided. */
export const WHOLE: Shard = { index: 0, count: 1 };

/** The most shards of an installation. The chart's RBAC names the lease of each. */
export const MAX_SHARDS = 8;

const LEASE_NAME = "mooring-operator";

/** The lease of a shard. It does not depend on the number of shards: two processes that disagree on it meet at a lease. */
export function leaseNameOf(index: number): string {
  return nameOf(LEASE_NAME, index);
}

/** The numbers of the shards that an installation can have. */
export const SHARD_INDEXES: readonly number[] = Array.from({ length: MAX_SHARDS }, (_, index) => index);

function nameOf(base: string, index: number): string {
  return index === 0 ? base : `${base}-shard-${index}`;
}

/** @param text `INDEX/COUNT`, such as `0/3` @throws Error on anything else */
export function parseShard(text: string): Shard {
  const [, first, second] = /^(\d{1,3})\/(\d{1,3})$/.exec(text) ?? [];
  const shard = { index: Number(first), count: Number(second) };
  if (shard.count >= 1 && shard.count <= MAX_SHARDS && shard.index < shard.count) return shard;
  throw new Error(`expected INDEX/COUNT with a COUNT of 1-${MAX_SHARDS} and an INDEX below it, such as 0/3`);
}

/**
 * The shard of an account: the one with the highest hash of account and shard (rendezvous hashing). When the number of shards
 * changes from M to N, an account moves only if its shard is new or no longer exists.
 */
export function shardOf(account: AccountKey, count: number): number {
  let best = 0;
  let highest = "";
  for (let index = 0; index < count && count > 1; index++) {
    const hash = createHash("sha256").update(`${index}/${account}`).digest("hex");
    if (hash <= highest) continue;
    best = index;
    highest = hash;
  }
  return best;
}

/** Whether a shard has an account. Remembers each answer: it is asked for every change of every object. */
export function createShardMembership({ index, count }: Shard): (account: AccountKey) => boolean {
  if (count === 1) return () => true;
  const known = new Map<AccountKey, boolean>();
  return (account) => {
    const remembered = known.get(account);
    if (remembered !== undefined) return remembered;
    const isOwn = shardOf(account, count) === index;
    known.set(account, isOwn);
    return isOwn;
  };
}
