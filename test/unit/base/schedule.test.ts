import { expect, it } from "vitest";
import { createSchedule } from "../../../src/base/schedule.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

function setUp() {
  const clock = createFakeClock();
  const calls: string[][] = [];
  const schedule = createSchedule<string>(clock, (due) => void calls.push(due.map(({ item }) => item)));
  const add = (item: string, inMs: number) => schedule.add(item, clock.monotonic() + inMs);
  return { clock, calls, schedule, add };
}

it("tells what is due when its time has come, the earliest first", async () => {
  const { clock, calls, add } = setUp();
  add("late", 300);
  add("second", 100);
  add("first", 50);
  await clock.advance(49);
  expect(calls).toEqual([]);
  await clock.advance(1);
  expect(calls).toEqual([["first"]]);
  await clock.advance(1_000);
  expect(calls.flat()).toEqual(["first", "second", "late"]);
});

it("an item that is added for a time that has passed is due at once", async () => {
  const { clock, calls, add } = setUp();
  add("now", -5);
  await clock.advance(0);
  expect(calls).toEqual([["now"]]);
});

it("nothing becomes due after the stop, whenever it was added", async () => {
  const { clock, calls, schedule, add } = setUp();
  add("before", 10);
  schedule.stop();
  add("after", 10);
  await clock.advance(1_000);
  expect(calls).toEqual([]);
});
