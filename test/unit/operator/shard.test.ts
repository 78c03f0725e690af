import { describe, expect, it } from "vitest";
import { createShardMembership, leaseNameOf, MAX_SHARDS, parseShard, shardOf } from "../../../src/operator/shard.ts";

const accounts = Array.from({ length: 3_000 }, (_, index) => `Account/team-${index}/default`);

describe("the shard of an account", () => {
  it("is the same in every process and version", () => {
    expect(["Account/a/default", "Account/b/default", "ClusterAccount/default"].map((key) => shardOf(key, 3))).toEqual([
      0, 1, 0,
    ]);
  });

  it("is one of the shards, each with about the same number of accounts", () => {
    for (let count = 1; count <= MAX_SHARDS; count++) {
      const sizes = Array.from({ length: count }, () => 0);
      for (const account of accounts) sizes[shardOf(account, count)] = (sizes[shardOf(account, count)] ?? 0) + 1;
      for (const size of sizes) expect(Math.abs(size - accounts.length / count)).toBeLessThan(0.15 * accounts.length);
      expect(sizes.reduce((sum, size) => sum + size)).toBe(accounts.length);
    }
  });

  it("changes with the number of shards only for accounts of the shard that is added or removed", () => {
    for (let count = 1; count < MAX_SHARDS; count++) {
      for (const account of accounts) {
        const after = shardOf(account, count + 1);
        expect(after === shardOf(account, count) || after === count).toBe(true);
      }
    }
  });

  it("has the account, and no other shard has it", () => {
    const shards = Array.from({ length: 3 }, (_, index) => createShardMembership({ index, count: 3 }));
    for (const account of accounts.slice(0, 100)) expect(shards.filter((has) => has(account))).toHaveLength(1);
  });
});

describe("the setting --shard", () => {
  it.each([
    ["0/1", { index: 0, count: 1 }],
    ["2/3", { index: 2, count: 3 }],
    [`7/${MAX_SHARDS}`, { index: 7, count: 8 }],
  ])("%s", (text, shard) => expect(parseShard(text)).toEqual(shard));

  it.each(["", "1", "3/3", "0/0", `0/${MAX_SHARDS + 1}`, "-1/3", "a/b", "0/3/1"])(
    "refuses %j, with the allowed range",
    (text) => {
      expect(() => parseShard(text)).toThrow(
        "expected INDEX/COUNT with a COUNT of 1-8 and an INDEX below it, such as 0/3",
      );
    },
  );
});

it("names the lease of shard 0 as that of an installation that is not divided", () => {
  expect([leaseNameOf(0), leaseNameOf(2)]).toEqual(["mooring-operator", "mooring-operator-shard-2"]);
});
