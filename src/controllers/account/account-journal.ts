import type { AccountStatus } from "../../api/v1alpha1/account.ts";
import { rfc3339 } from "../../base/clock.ts";
import type { Journal, ShardIdentity } from "../../submission/journal.ts";
import type { AnyAccount } from "./foreign-claims.ts";

type ShownJournal = NonNullable<AccountStatus["journal"]>;
type ShownShard = NonNullable<ShownJournal["shards"]>[number];

/**
 * Which journal has the account's requests, and since when. The status shows the journal before the first request is sent, so an
 * account without one has sent nothing, unless it replaces a deleted account of the same name.
 *
 * The journal's own ID is not the UID of the head. An earlier version, which knows the head only, takes this journal for a lost
 * one: it looks for the endpoint of a first create before it creates one.
 * @param now ms since the epoch
 */
export function accountJournal(
  { metadata, status }: AnyAccount,
  shards: ReturnType<Journal["shards"]>,
  now: number,
): ShownJournal {
  const { journal: shown, claim } = status ?? {};
  const created = Date.parse(metadata.creationTimestamp);
  const [head] = shards;

  function completeness(shard: ShardIdentity, index: number): ShownShard {
    const { id, createdAt } = shard;
    const known = shown === undefined ? undefined : knownShard(shown, { head, shard, index });
    if (known !== undefined) return known;
    // An earlier version wrote a claim without a journal.
    if (shown !== undefined || claim !== undefined) {
      // Objects have the API server's time, which may be ahead of ours.
      return { id, completeSince: rfc3339(Math.max(now, createdAt)) };
    }
    return created <= createdAt ? { id } : { id, completeSince: rfc3339(createdAt) };
  }

  const complete = shards.map(completeness);
  const completeSince = latestOf(complete.map((shard) => shard.completeSince));
  return {
    id: `${head.id}/${shards.length}`,
    ...(completeSince && { completeSince }),
    shards: complete,
  };
}

/** The shard as the status shows it; undefined: it was lost, or is that of another journal whose entries were not moved. */
function knownShard(
  shown: ShownJournal,
  { head, shard, index }: { head: ShardIdentity; shard: ShardIdentity; index: number },
): ShownShard | undefined {
  // An earlier version wrote the requests of all objects to the head.
  const [before, now] = shown.shards === undefined ? [shown, head] : [shown.shards[index], shard];
  if (before === undefined || !isSame(now, before.id)) return undefined;
  return shardWith(shard.id, before.completeSince);
}

/** Whether the shard has every entry that the ConfigMap with this ID had. */
function isSame({ id, earlier = [] }: ShardIdentity, before: string): boolean {
  return before === id || earlier.includes(before);
}

function shardWith(id: string, completeSince: string | undefined): ShownShard {
  return { id, ...(completeSince && { completeSince }) };
}

/** @param times RFC 3339 in UTC to the second */
function latestOf(times: readonly (string | undefined)[]): string | undefined {
  return times
    .flatMap((time) => time ?? [])
    .sort()
    .at(-1);
}

/** The UIDs of the ConfigMaps. */
export function idsOf(journal: ShownJournal | undefined): string {
  return (journal?.shards ?? []).map(({ id }) => id).join();
}
