import { expect, it, onTestFinished } from "vitest";
import { createPollLoop } from "../../../src/base/schedule.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

function setUp(poll: (signal: AbortSignal) => Promise<void> = async () => {}) {
  const clock = createFakeClock();
  const began = clock.monotonic();
  const polls: number[] = [];
  const state = { intervalMs: 5_000, lastAt: Number.NEGATIVE_INFINITY };
  const loop = createPollLoop({
    clock,
    stopReason: "things are closed",
    dueInMs: () => state.lastAt + state.intervalMs - clock.monotonic(),
    async poll(signal) {
      state.lastAt = clock.monotonic();
      polls.push(state.lastAt - began);
      await poll(signal);
    },
  });
  onTestFinished(() => loop.stop());
  return { clock, polls, state, loop };
}

it("polls at once after the start, then when the next poll is due", async () => {
  const { clock, polls, loop } = setUp();
  await clock.advance(10_000);
  expect(polls).toEqual([]);
  loop.start();
  loop.start();
  await clock.advance(11_000);
  expect(polls).toEqual([10_000, 15_000, 20_000]);
});

it("follows a changed interval within a second", async () => {
  const { clock, polls, state, loop } = setUp();
  state.intervalMs = 3_600_000;
  loop.start();
  await clock.advance(10_500);
  state.intervalMs = 5_000;
  await clock.advance(1_000);
  expect(polls).toEqual([0, 11_000]);
});

it("follows a changed interval at once when it is woken, and is woken by its end", async () => {
  const { clock, polls, state, loop } = setUp();
  state.intervalMs = 3_600_000;
  loop.wake(); // it has not started
  loop.start();
  await clock.advance(10_500);
  state.intervalMs = 5_000;
  loop.wake();
  await clock.advance(0);
  expect(polls).toEqual([0, 10_500]);
  await loop.stop();
});

it("stops a poll under way, with the reason, and polls no more", async () => {
  let reason: unknown;
  const { clock, polls, loop } = setUp(
    (signal) =>
      new Promise((resolve) =>
        signal.addEventListener("abort", () => {
          reason = signal.reason;
          resolve();
        }),
      ),
  );
  loop.start();
  await clock.advance(60_000);
  expect(polls).toEqual([0]);
  await loop.stop();
  expect(reason).toEqual(new Error("things are closed"));
  await clock.advance(60_000);
  expect(polls).toEqual([0]);
});
