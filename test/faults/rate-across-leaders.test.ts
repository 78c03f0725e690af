import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { createRandom } from "../../src/simulator/random.ts";
import { manifest } from "../support/manifests.ts";
import { closeWorldsAfterAll, disposableWorld, eventually } from "../support/world.ts";

closeWorldsAfterAll();

const RATE = 10;
const BURST = 10;
/** By hand, more: `MOORING_LEADERS=20 npx vitest run test/faults/rate-across-leaders`. */
const LEADERS = Number(process.env.MOORING_LEADERS ?? 4);
const ENDPOINTS = 80 * LEADERS;
const WINDOWS_SECONDS = [2, 5, 10];
/** A process that has to wait for its turn on the machine sends late what it was allowed to send, and then on time again. */
const LATE_SECONDS = 0.5;

it(`${LEADERS} leaders one after the other, under load, never exceed the rate of the account`, {
  timeout: LEADERS * 60_000,
}, async () => {
  const random = createRandom(1);
  const world = await disposableWorld("rate", {
    account: { rateLimit: { requestsPerSecond: RATE, burst: BURST } },
  });
  await Promise.all(
    Array.from({ length: ENDPOINTS }, (_, index) => world.apply(manifest("endpoint", {}, `e-${index}`))),
  );
  // Two at a time: the next one takes over when this one is killed or stopped.
  let leader = await world.startOperator({ args: ["--leader-elect"] });
  for (let change = 0; change < LEADERS; change++) {
    const standby = await world.startOperator({ args: ["--leader-elect"] });
    const before = (await world.audit()).length;
    await eventually("the leader calls", async () => (await world.audit()).length > before + BURST);
    await sleep(1_000 * random.next());
    await (change % 3 === 2 ? leader.kill() : leader.stop());
    leader = standby;
  }
  const calls = (await world.audit()).map(({ time }) => Date.parse(time)).sort((a, b) => a - b);
  const most = WINDOWS_SECONDS.map((seconds) => {
    const inWindow = calls.map((from, i) => calls.findIndex((at) => at > from + seconds * 1_000) - i);
    return Math.max(...inWindow.map((count, i) => (count < 0 ? calls.length - i : count)));
  });
  console.log(
    `${calls.length} calls; most in ${WINDOWS_SECONDS.map((seconds, i) => `${seconds} s: ${most[i]} of ${BURST + RATE * seconds}`).join(", ")}`,
  );
  WINDOWS_SECONDS.forEach((seconds, i) => {
    expect(most[i]).toBeLessThanOrEqual(BURST + RATE * (seconds + LATE_SECONDS));
  });
  expect(calls.length).toBeGreaterThan(LEADERS * BURST);
});
