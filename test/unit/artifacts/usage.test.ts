import { expect, it } from "vitest";
import { createUsage } from "../../../src/artifacts/usage.ts";

const { signal } = new AbortController();

function usageOf(maxStoreBytes: number | undefined, found: () => number) {
  const told: string[] = [];
  const limits = { maxStoreBytes };
  const usage = createUsage(
    { usage: async (limit) => Math.min(limit, found()) },
    { limits: () => limits, onFull: () => told.push("full") },
  );
  return { usage, told, limits };
}

it("a store is full from its limit on, by what was measured and what was stored since", async () => {
  let found = 60;
  const { usage, told, limits } = usageOf(100, () => found);
  expect(usage.full()).toBeUndefined();
  await usage.measure(signal);
  usage.add(39);
  expect(usage.full()).toBeUndefined();
  usage.add(1);
  usage.add(1);
  expect(usage.full()).toMatch(
    /^the store has 101 bytes or more, and spec.maxBytes allows 100: remove some, or raise it/,
  );
  expect(told).toEqual(["full"]);

  limits.maxStoreBytes = 200;
  expect(usage.full()).toBeUndefined();
  limits.maxStoreBytes = 100;
  found = 10;
  await usage.measure(signal);
  expect(usage.full()).toBeUndefined();
});

it("a store without a limit is neither measured nor full", async () => {
  const { usage } = usageOf(undefined, () => {
    throw new Error("measured");
  });
  await usage.measure(signal);
  usage.add(1e15);
  expect(usage.full()).toBeUndefined();
});
