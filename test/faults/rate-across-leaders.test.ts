import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { createRandom } from "../../src/simulator/random.ts";
import { manifest } from "../support/manifests.ts";
import { observeService } from "../support/observed-service.ts";
import { expectRate, LEADING, reignsOf } from "../support/reigns.ts";
import { createWorld, eventually, type Operator } from "../support/world.ts";

const RATE = 10;
const BURST = 10;
/** By hand, more: `MOORING_LEADERS=20 npx vitest run test/faults/rate-across-leaders`. */
const LEADERS = Number(process.env.MOORING_LEADERS ?? 4);
const ENDPOINTS = 80 * LEADERS;

it(`${LEADERS} leaders one after the other, under load, never exceed the rate of the account`, {
  timeout: LEADERS * 60_000,
}, async () => {
  const random = createRandom(1);
  const world = await createWorld("rate", { account: null });
  const leaders: Operator[] = [];
  const service = await observeService(world.simulator.url, () => leaders.map(({ pid }) => pid));
  await world.apply({
    kind: "Account",
    metadata: { name: "default" },
    spec: {
      baseURL: service.url,
      apiKeySecretRef: { name: "key", key: "apiKey" },
      rateLimit: { requestsPerSecond: RATE, burst: BURST },
    },
  });
  await Promise.all(
    Array.from({ length: ENDPOINTS }, (_, index) => world.apply(manifest("endpoint", {}, `e-${index}`))),
  );
  const start = async () => {
    const operator = await world.startOperator({ args: ["--leader-elect"] });
    leaders.push(operator);
    return operator;
  };
  // Two at a time: the next one takes over when this one is killed or stopped.
  let leader = await start();
  for (let change = 0; change < LEADERS; change++) {
    const { pid, log } = leader;
    await eventually("it leads", async () => log().includes(LEADING));
    const standby = await start();
    const ofLeader = () => service.calls.filter((call) => call.pid === pid);
    await eventually("the leader calls", async () => ofLeader().length > BURST);
    await sleep(1_000 * random.next());
    await (change % 3 === 2 ? leader.kill() : leader.stop());
    leader = standby;
  }

  const reigns = reignsOf(service.calls, leaders);
  // Nobody calls again after the next leader.
  expect(reigns.map(({ operator }) => operator.pid)).toEqual([...new Set(reigns.map(({ operator }) => operator.pid))]);
  expect(reigns.length).toBeGreaterThanOrEqual(LEADERS);
  for (const reign of reigns) expectRate(reign, RATE);
  expect(service.calls.length).toBeGreaterThan(LEADERS * BURST);
});
