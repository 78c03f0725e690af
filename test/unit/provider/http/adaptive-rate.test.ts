import { expect, it } from "vitest";
import { createGate } from "../../../../src/provider/http/gate.ts";
import type { Operation } from "../../../../src/provider/operations.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";

/** A service that allows `perSecond` requests in each second, and callers that always have another call. */
async function demand(perSecond: number, seconds: number) {
  const clock = createFakeClock();
  const gate = createGate({ clock, random: () => 0.5, requestsPerSecond: 10, burst: 20 });
  const answered: { at: number; refused: boolean }[] = [];
  let second = 0;
  let used = 0;
  let ended = false;
  const call = async (operation: Operation) => {
    while (!ended) {
      const pass = await gate.enter(operation);
      const now = clock.monotonic();
      if (Math.floor(now / 1_000) !== second) [second, used] = [Math.floor(now / 1_000), 0];
      used += 1;
      const refused = used > perSecond;
      answered.push({ at: now, refused });
      if (refused) gate.rateLimited(operation, 0);
      else gate.succeeded(operation);
      pass.leave();
    }
  };
  const operations: Operation[] = ["getTaskResult", "listEndpoints", "getEndpoint", "submitSpeech"];
  for (const operation of operations) for (let i = 0; i < 3; i++) void call(operation);
  await clock.advance(seconds * 1_000);
  ended = true;
  return answered;
}

it("beside a service that allows 8 requests a second, rateLimit 10 is used steadily", async () => {
  const answered = await demand(8, 300);
  const later = answered.slice(answered.length / 5);
  const from = later[0]?.at ?? 0;
  const seconds = ((later.at(-1)?.at ?? 0) - from) / 1_000;
  const good = later.filter(({ refused }) => !refused).length;
  const refused = later.length - good;
  expect(good / seconds).toBeGreaterThan(8 * 0.75);
  expect(refused / later.length).toBeLessThan(0.03);
  // No second without a call.
  const quiet = later.flatMap(({ at }, index) => at - (later[index - 1]?.at ?? at));
  expect(Math.max(...quiet)).toBeLessThan(2_000);
});

it("a service that allows the rate is used at the rate", async () => {
  const answered = await demand(1_000, 60);
  expect(answered.length).toBeGreaterThanOrEqual(600);
  expect(answered.every(({ refused }) => !refused)).toBe(true);
});

it("returns to the rate of the account after the refusals have ended", async () => {
  const clock = createFakeClock();
  const gate = createGate({ clock, random: () => 0.5, requestsPerSecond: 10, burst: 1 });
  for (let i = 0; i < 50; i++) {
    gate.rateLimited("listBills");
    await clock.advance(1_000);
  }
  let went = 0;
  for (let i = 0; i < 3_000; i++) {
    void gate.enter("getEndpoint").then((pass) => {
      went += 1;
      pass.leave();
      gate.succeeded("getEndpoint");
    });
  }
  await clock.advance(10_000);
  expect(went).toBeLessThan(20); // a tenth of the rate at least
  expect(went).toBeGreaterThanOrEqual(10);
  await clock.advance(400_000);
  const before = went;
  await clock.advance(10_000);
  expect(went - before).toBe(100);
});
