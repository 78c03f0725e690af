import { expect, it } from "vitest";
import { createByteBudget, SMALL_BODY_BYTES } from "../../../src/provider/byte-budget.ts";
import { settle } from "../../support/fake-clock.ts";

const KIB = 1024;
const MIB = 1024 * KIB;
const { signal } = new AbortController();

/** Whether a promise has resolved by now. */
async function resolved(promise: Promise<unknown>): Promise<boolean> {
  let done = false;
  void promise.then(() => {
    done = true;
  });
  await settle();
  return done;
}

it("never reserves more than the budget, and serves the bodies of a service in the order of asking", async () => {
  const budget = createByteBudget(4 * MIB);
  const bodies = [2 * MIB, 2 * MIB, MIB].map((length) =>
    budget.reserve({ group: "a", limit: 16 * MIB, length }, signal),
  );
  const [first, second, third] = bodies;
  expect(await Promise.all(bodies.map(resolved))).toEqual([true, false, false]);
  (await first)?.release();
  expect(await resolved(second as Promise<unknown>)).toBe(true);
  expect(await resolved(third as Promise<unknown>)).toBe(false);
  (await second)?.release();
  expect(await resolved(third as Promise<unknown>)).toBe(true);
  expect(budget.inUse()).toBeLessThanOrEqual(4 * MIB);
  (await third)?.release();
  expect(budget.inUse()).toBe(0);
});

it("no service takes the whole budget", async () => {
  const budget = createByteBudget(4 * MIB);
  const greedy = Array.from({ length: 50 }, () =>
    budget.reserve({ group: "greedy", limit: 16 * MIB, length: 2 * MIB }, signal),
  );
  await greedy[0];
  const other = await budget.reserve({ group: "other", limit: 16 * MIB, length: 512 * KIB }, signal);
  other.release();
  for (const body of greedy) (await body).release();
  expect(budget.inUse()).toBe(0);
});

it("a body without a length takes little until it grows, and then all that it may need", async () => {
  const budget = createByteBudget(64 * MIB);
  const body = await budget.reserve({ group: "a", limit: 16 * MIB, length: undefined }, signal);
  expect(budget.inUse()).toBe(SMALL_BODY_BYTES);
  await body.grow(SMALL_BODY_BYTES + 1, signal);
  expect(budget.inUse()).toBe(SMALL_BODY_BYTES + 16 * MIB);
  await body.grow(16 * MIB, signal);
  body.release();
  body.release();
  expect(budget.inUse()).toBe(0);
});

it("a body larger than the budget has it alone instead of waiting for ever", async () => {
  const budget = createByteBudget(MIB);
  const body = await budget.reserve({ group: "a", limit: 16 * MIB, length: 10 * MIB }, signal);
  expect(budget.inUse()).toBeLessThanOrEqual(MIB);
  body.release();
});

it("bodies that all grow at once do not wait for each other for ever, and small ones not for them", async () => {
  const budget = createByteBudget(4 * MIB);
  let grown = 0;
  let grownBeforeSmall = 0;
  const bodies = Array.from({ length: 64 }, async (_, index) => {
    const body = await budget.reserve({ group: `s${index % 4}`, limit: 2 * MIB, length: undefined }, signal);
    await body.grow(2 * MIB, signal);
    expect(budget.inUse()).toBeLessThanOrEqual(4 * MIB);
    grown += 1;
    await settle();
    body.release();
  });
  const small = budget.reserve({ group: "small", limit: MIB, length: KIB }, signal).then((body) => {
    grownBeforeSmall = grown;
    body.release();
  });
  await Promise.all([...bodies, small]);
  expect(grown).toBe(64);
  expect(grownBeforeSmall).toBeLessThan(64);
  expect(budget.inUse()).toBe(0);
});

it("a body whose call is aborted leaves the line", async () => {
  const budget = createByteBudget(MIB);
  const first = await budget.reserve({ group: "a", limit: MIB, length: MIB }, signal);
  const caller = new AbortController();
  const second = budget.reserve({ group: "a", limit: MIB, length: MIB }, caller.signal);
  const third = budget.reserve({ group: "a", limit: MIB, length: MIB }, signal);
  caller.abort(new Error("given up"));
  await expect(second).rejects.toThrow("given up");
  first.release();
  (await third).release();
  expect(budget.inUse()).toBe(0);
});
