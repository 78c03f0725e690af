import { expect, it } from "vitest";
import { createBodyMemory } from "../../../../src/controllers/jobs/running.ts";

const MILLION = 1_000_000;

it("bodies of one account take a share of the memory, and all accounts together no more than all of it", () => {
  const memory = createBodyMemory();
  const taken = (account: string) =>
    Array.from({ length: 20 }, (_, index) =>
      memory.fits(`${account}-${index}`, { account, characters: MILLION }, () => {}),
    ).filter(Boolean).length;
  expect(["a", "b", "c", "d", "e"].map(taken)).toEqual([4, 4, 4, 4, 0]);
  expect(memory.fits("small", { account: "e", characters: 10_000 }, () => {})).toBe(true);
});

it("a body that waits is told when another one is gone", () => {
  const memory = createBodyMemory();
  const woken: string[] = [];
  const ask = (uid: string) => memory.fits(uid, { account: "a", characters: 3 * MILLION }, () => void woken.push(uid));
  expect([ask("one"), ask("two"), ask("one")]).toEqual([true, false, true]);
  memory.vacate("two");
  expect(woken).toEqual([]);
  memory.vacate("one");
  expect(woken).toEqual(["two"]);
  expect(ask("two")).toBe(true);
});

it("a body that is larger than a share is sent alone", () => {
  const memory = createBodyMemory();
  expect(memory.fits("large", { account: "a", characters: 6 * MILLION }, () => {})).toBe(true);
  expect(memory.fits("next", { account: "a", characters: MILLION }, () => {})).toBe(false);
});
