import { expect, it } from "vitest";
import { accountSpecSchema } from "../../../../src/api/v1alpha1/account.ts";
import { accountJournal } from "../../../../src/controllers/account/account-journal.ts";
import type { ShardIdentity } from "../../../../src/submission/journal.ts";
import { manifest } from "../../../support/manifests.ts";
import { storedMeta } from "../../../support/stored-meta.ts";

const CREATED = Date.parse("2026-03-01T00:00:00Z");
const NOW = Date.parse("2026-03-02T00:00:00Z");
const SINCE = "2026-02-10T00:00:00Z";

const shard = (id: string, earlier?: string[]): ShardIdentity => ({
  id,
  createdAt: CREATED,
  ...(earlier && { earlier }),
});

it.each<{ name: string; shards: [ShardIdentity, ...ShardIdentity[]]; since: (string | undefined)[] }>([
  {
    name: "is as complete as the journal whose entries were moved to it",
    shards: [shard("new-head", ["old-head"]), shard("new", ["old"])],
    since: [SINCE, undefined],
  },
  {
    name: "is complete from now on where entries were not moved",
    shards: [shard("new-head", ["old-head"]), shard("new", ["other"])],
    since: [SINCE, "2026-03-02T00:00:00Z"],
  },
])("the journal of an account that another process served before $name", ({ shards, since }) => {
  const journal = { id: "old-head/2", shards: [{ id: "old-head", completeSince: SINCE }, { id: "old" }] };
  const spec = accountSpecSchema.parse(manifest("account").spec);
  const status = { conditions: [], journal };
  const account = { kind: "Account", metadata: storedMeta({ name: "default" }), spec, status };
  expect(accountJournal(account, shards, NOW).shards).toEqual(
    shards.map(({ id }, index) => (since[index] === undefined ? { id } : { id, completeSince: since[index] })),
  );
});
