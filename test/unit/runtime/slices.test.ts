import { expect, it } from "vitest";
import { createSlices } from "../../../src/runtime/slices.ts";

/** Slices of 10 ms whose time and event loop the test moves on. */
function setUp() {
  let ms = 0;
  const turns: (() => void)[] = [];
  const slices = createSlices({ maxMs: 10, now: () => ms, turn: (go) => turns.push(go) });
  return {
    slices,
    turns,
    pass: (by: number) => {
      ms += by;
    },
  };
}

it("a slice lasts until its time is over", () => {
  const w = setUp();
  w.pass(9);
  expect(w.slices.end()).toBeUndefined();
  w.pass(1);
  expect(w.slices.end()).toBeInstanceOf(Promise);
});

it("all work that ends a slice waits for the same turn of the event loop, and the next slice begins after it", async () => {
  const w = setUp();
  w.pass(10);
  const waiting = [w.slices.end(), w.slices.end()];
  expect(w.turns).toHaveLength(1);
  w.pass(5);
  w.turns[0]?.();
  await Promise.all(waiting);
  w.pass(9);
  expect(w.slices.end()).toBeUndefined();
  w.pass(1);
  expect(w.slices.end()).toBeInstanceOf(Promise);
});
