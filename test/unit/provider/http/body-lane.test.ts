import { expect, it } from "vitest";
import { createByteBudget } from "../../../../src/provider/byte-budget.ts";
import { createBodyLane } from "../../../../src/provider/http/body-lane.ts";
import { createFakeClock, settle } from "../../../support/fake-clock.ts";

const MIB = 1024 * 1024;
const forever = new AbortController().signal;

function follow(promise: Promise<unknown>): () => string {
  let state = "waiting";
  promise.then(
    () => {
      state = "read";
    },
    () => {
      state = "refused";
    },
  );
  return () => state;
}

const body = (limit: number, length: number | undefined, group = "one") => ({ group, limit, length });

it("one account reads one large body at a time, and pauses after each; small ones and other accounts do not wait", async () => {
  const clock = createFakeClock();
  const budget = createByteBudget(64 * MIB);
  const lane = createBodyLane(budget, clock);
  const first = await lane.reserve(body(16 * MIB, 8 * MIB), forever);
  const second = follow(lane.reserve(body(16 * MIB, 8 * MIB), forever));
  const small = await lane.reserve(body(16 * MIB, 1024), forever);
  const other = await createBodyLane(budget, clock).reserve(body(16 * MIB, 8 * MIB, "other"), forever);
  await settle();
  expect(second()).toBe("waiting");

  first.release();
  first.release();
  await clock.advance(999);
  expect(second()).toBe("waiting");
  await clock.advance(1);
  expect(second()).toBe("read");
  for (const body of [small, other]) body.release();
});

it("a body that grows large enters then, and one that is given up lets the next one in", async () => {
  const clock = createFakeClock();
  const lane = createBodyLane(createByteBudget(64 * MIB), clock);
  const growing = await lane.reserve(body(4 * MIB, undefined), forever);
  await growing.grow(MIB, forever);
  const leaving = new AbortController();
  const given = follow(lane.reserve(body(4 * MIB, MIB), leaving.signal));
  const next = follow(lane.reserve(body(4 * MIB, MIB), forever));
  leaving.abort(new Error("given up"));
  await settle();
  expect([given(), next()]).toEqual(["refused", "waiting"]);
  growing.release();
  await clock.advance(125);
  expect(next()).toBe("read");
});
