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

it("never reserves more than the budget, and serves waiting bodies in the order of asking", async () => {
  const budget = createByteBudget(4 * MIB);
  const bodies = [2 * MIB, 2 * MIB, MIB].map((length) => budget.reserve(16 * MIB, length, signal));
  const [first, second, third] = bodies;
  expect(await Promise.all(bodies.map(resolved))).toEqual([true, false, false]);
  (await first)?.release();
  expect(await resolved(second as Promise<unknown>)).toBe(true);
  expect(await resolved(third as Promise<unknown>)).toBe(true);
  expect(budget.inUse()).toBeLessThanOrEqual(4 * MIB);
  for (const body of bodies) (await body).release();
  expect(budget.inUse()).toBe(0);
});

it("a body without a length takes little until it grows, and then all that it may need", async () => {
  const budget = createByteBudget(64 * MIB);
  const body = await budget.reserve(16 * MIB, undefined, signal);
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
  const body = await budget.reserve(16 * MIB, 10 * MIB, signal);
  expect(budget.inUse()).toBeLessThanOrEqual(MIB);
  body.release();
});

it("bodies that all grow at once do not wait for each other for ever, and small ones not for them", async () => {
  const budget = createByteBudget(4 * MIB);
  const bodies = await Promise.all(Array.from({ length: 16 }, () => budget.reserve(2 * MIB, undefined, signal)));
  let small = 0;
  await Promise.all([
    ...bodies.map(async (body) => {
      await body.grow(2 * MIB, signal);
      expect(budget.inUse()).toBeLessThanOrEqual(4 * MIB);
      await settle();
      body.release();
    }),
    budget.reserve(MIB, 1 * KIB, signal).then(() => {
      small = budget.inUse();
    }),
  ]);
  expect(small).toBeGreaterThan(0);
});

it("a body whose call is aborted leaves the line", async () => {
  const budget = createByteBudget(MIB);
  const first = await budget.reserve(MIB, MIB, signal);
  const caller = new AbortController();
  const second = budget.reserve(MIB, MIB, caller.signal);
  const third = budget.reserve(MIB, MIB, signal);
  caller.abort(new Error("given up"));
  await expect(second).rejects.toThrow("given up");
  first.release();
  (await third).release();
  expect(budget.inUse()).toBe(0);
});
