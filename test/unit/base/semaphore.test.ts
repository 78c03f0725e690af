import { expect, it } from "vitest";
import { createSemaphore, type Semaphore } from "../../../src/base/semaphore.ts";
import { settle } from "../../support/fake-clock.ts";

const { signal } = new AbortController();

/** Takes units for each name in turn (`a1` is of group `a`); `got` lists those that have them. */
function takers(pool: Semaphore) {
  const got: string[] = [];
  const releases = new Map<string, () => void>();
  const take = async (name: string, units = 1) => {
    releases.set(name, await pool.take(name.charAt(0), units, signal));
    got.push(name);
  };
  const release = async (name: string) => {
    releases.get(name)?.();
    await settle();
  };
  return { got, take, release };
}

it("groups take turns, and no group has more than its share", async () => {
  const pool = createSemaphore({ capacity: 3, perGroup: 2 });
  const { got, take, release } = takers(pool);
  for (let i = 1; i <= 4; i++) void take(`a${i}`);
  await settle();
  expect(got).toEqual(["a1", "a2"]);
  void take("b1");
  await settle();
  expect(got).toEqual(["a1", "a2", "b1"]);
  void take("b2");
  void take("c1");
  await settle();
  expect(pool.contested()).toBe(true);
  await release("a1");
  await release("b1");
  await release("a2");
  expect(got).toEqual(["a1", "a2", "b1", "a3", "b2", "c1"]);
  await release("c1");
  expect(got.at(-1)).toBe("a4");
  for (const name of ["a3", "a4", "b2"]) await release(name);
  expect([pool.inUse(), pool.contested()]).toEqual([0, false]);
});

it("thousands of one group delay another group by one turn", async () => {
  const pool = createSemaphore({ capacity: 1 });
  const { got, take, release } = takers(pool);
  for (let i = 1; i <= 2_000; i++) void take(`a${i}`);
  void take("b1");
  await settle();
  await release("a1");
  await release("a2");
  expect(got).toEqual(["a1", "a2", "b1"]);
});

it("a large taker is waited for, and one larger than a share has the whole share", async () => {
  const pool = createSemaphore({ capacity: 10, perGroup: 8 });
  const { got, take, release } = takers(pool);
  await take("a1", 5);
  void take("b1", 100);
  void take("c1", 1);
  await settle();
  expect(got).toEqual(["a1"]); // nobody slips past the large one for ever
  await release("a1");
  expect(got).toEqual(["a1", "b1", "c1"]);
  expect(pool.inUse()).toBe(9);
});

it("a taker that gives up leaves the line, and giving back twice counts once", async () => {
  const pool = createSemaphore({ capacity: 1 });
  const first = await pool.take("a", 1, signal);
  const caller = new AbortController();
  const second = pool.take("b", 1, caller.signal);
  const third = pool.take("c", 1, signal);
  caller.abort(new Error("given up"));
  await expect(second).rejects.toThrow("given up");
  first();
  first();
  const release = await third;
  expect(pool.inUse()).toBe(1);
  release();
  expect(pool.inUse()).toBe(0);
  await expect(pool.take("a", 1, caller.signal)).rejects.toThrow("given up");
});
