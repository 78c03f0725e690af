import { expect, it } from "vitest";
import { createBackoffs } from "../../../src/runtime/backoff.ts";
import { createFakeClock, START } from "../../support/fake-clock.ts";

const OPTIONS = { baseMs: 1_000, capMs: 60_000, jitter: 0, random: () => 0.5 };

it.each([
  { what: "back", byMs: -3_600_000 },
  { what: "forward", byMs: 3_600_000 },
])("a backoff is neither longer nor shorter when the wall clock is set $what", async ({ byMs }) => {
  const clock = createFakeClock();
  const backoffs = createBackoffs(clock, OPTIONS);
  expect(backoffs.fail("a")).toBe(START + 1_000);
  clock.setWallClock(byMs);
  expect((backoffs.until("a") ?? 0) - clock.now()).toBe(1_000);
  await clock.advance(1_000);
  expect(backoffs.until("a")).toBe(clock.now());
});
