import { getEventListeners } from "node:events";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { deadlineSignal, delay, inLine, systemClock, withDeadline } from "../../../src/base/clock.ts";
import { createFakeClock, settle } from "../../support/fake-clock.ts";

const DAY_MS = 86_400_000;

describe("the system clock", () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  // Node counts no further than 2^31 - 1 ms, 24.8 days, and fires a longer timer at once.
  it.each([
    ["a second", 1_000],
    ["all that Node counts", 2 ** 31 - 1],
    ["one more", 2 ** 31],
    ["90 days", 90 * DAY_MS],
    ["ten years", 3_650 * DAY_MS],
  ])("runs what is due in %s once, then and not before", (_, ms) => {
    const ran = vi.fn();
    systemClock.setTimeout(ran, ms);
    vi.advanceTimersByTime(ms - 1);
    expect(ran).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(ran).toHaveBeenCalledTimes(1);
    vi.advanceTimersByTime(30 * DAY_MS);
    expect(ran).toHaveBeenCalledTimes(1);
  });

  it.each([0, 60 * DAY_MS])("cancels after %s ms what is due in 90 days", (after) => {
    const ran = vi.fn();
    const cancel = systemClock.setTimeout(ran, 90 * DAY_MS);
    vi.advanceTimersByTime(after);
    cancel();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("never runs what is due never", () => {
    const ran = vi.fn();
    systemClock.setTimeout(ran, Number.POSITIVE_INFINITY);
    vi.advanceTimersByTime(365 * DAY_MS);
    expect(ran).not.toHaveBeenCalled();
  });
});

it.each([90 * DAY_MS, 2 ** 40, 1e35])("a deadline of %s ms is not over at once", async (ms) => {
  const signal = deadlineSignal(ms);
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(signal.aborted).toBe(false);
});

it("a deadline of less than a millisecond passes", async () => {
  const signal = deadlineSignal(0.2);
  await vi.waitFor(() => expect(signal.aborted).toBe(true));
});

it("a deadline on a clock passes when the clock says so, and its timer ends with the work", async () => {
  const clock = createFakeClock();
  let signal: AbortSignal | undefined;
  const end = Promise.withResolvers<string>();
  const running = withDeadline(clock, 5_000, (given) => {
    signal = given;
    return end.promise;
  });
  await clock.advance(4_999);
  expect(signal?.aborted).toBe(false);
  await clock.advance(1);
  expect(signal?.aborted).toBe(true);
  end.resolve("late");
  expect(await running).toBe("late");
  await withDeadline(clock, 5_000, () => settle());
  expect(clock.timers()).toBe(0);
});

it("a pause and a place in a line leave no listener on a signal that lives longer", async () => {
  const clock = createFakeClock();
  const { signal } = new AbortController();
  const pause = delay(clock, 1_000, signal);
  const places = [
    inLine<void>(signal, (enter) => clock.setTimeout(enter, 1_000)),
    inLine<void>(signal, (_, refuse) => clock.setTimeout(() => refuse(new Error("full")), 1_000)),
  ];
  expect(getEventListeners(signal, "abort")).toHaveLength(3);
  await Promise.all([clock.advance(1_000), pause, Promise.allSettled(places)]);
  expect(getEventListeners(signal, "abort")).toEqual([]);
  expect(clock.timers()).toBe(0);
});
