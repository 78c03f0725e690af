import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { createRandom } from "../../src/simulator/random.ts";
import { manifest } from "../support/manifests.ts";
import { type ObservedCall, observeService } from "../support/observed-service.ts";
import { closeWorldsAfterAll, disposableWorld, eventually, type Operator } from "../support/world.ts";

closeWorldsAfterAll();

const RATE = 10;
const BURST = 10;
/** By hand, more: `MOORING_LEADERS=20 npx vitest run test/faults/rate-across-leaders`. */
const LEADERS = Number(process.env.MOORING_LEADERS ?? 4);
const ENDPOINTS = 80 * LEADERS;
const LEADING = '"msg":"leading"';

/**
 * The most calls of a leader in its first milliseconds: it starts without a burst, because it does not know what the leader before it has just
 * used. A busy machine delays calls, and a delayed call is one call less until then: no delay breaks this rule. One call more for times that
 * are rounded to a millisecond.
 */
function allowed(elapsedMs: number): number {
  return (RATE * elapsedMs) / 1_000 + 1;
}

type Reign = { pid: number; times: number[] };

/** The calls of one process after the other. A call whose process ended before it could be found is one of the process before it. */
function reignsOf(calls: readonly ObservedCall[], pids: readonly number[]): Reign[] {
  const reigns: Reign[] = [];
  for (const { pid = reigns.at(-1)?.pid ?? pids[0], at } of calls) {
    if (pid === undefined) continue;
    if (reigns.at(-1)?.pid !== pid) reigns.push({ pid, times: [] });
    reigns.at(-1)?.times.push(at);
  }
  return reigns;
}

/** When the process began to lead, ms since the epoch. Its bucket was empty then, or was made later. */
function leadingSince(operator: Operator): number {
  const line = operator
    .log()
    .split("\n")
    .find((one) => one.includes(LEADING));
  return Date.parse((JSON.parse(line ?? "{}") as { time?: string }).time ?? "");
}

it(`${LEADERS} leaders one after the other, under load, never exceed the rate of the account`, {
  timeout: LEADERS * 60_000,
}, async () => {
  const random = createRandom(1);
  const world = await disposableWorld("rate", { account: null });
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

  const reigns = reignsOf(
    service.calls,
    leaders.map(({ pid }) => pid),
  );
  // Nobody calls again after the next leader.
  expect(reigns.map(({ pid }) => pid)).toEqual([...new Set(reigns.map(({ pid }) => pid))]);
  expect(reigns.length).toBeGreaterThanOrEqual(LEADERS);
  for (const { pid, times } of reigns) {
    const operator = leaders.find((one) => one.pid === pid);
    if (operator === undefined) throw new Error(`process ${pid} leads, which the test did not start`);
    const since = leadingSince(operator);
    expect(since, `process ${pid} leads`).toBeGreaterThan(0);
    const over = times.filter((at, index) => index + 1 > allowed(at - since));
    console.log(`${times.length} calls in ${((times.at(-1) ?? since) - since) / 1_000} s`);
    expect(over, `calls of process ${pid}, which leads since ${since}, above the rate`).toEqual([]);
  }
  expect(service.calls.length).toBeGreaterThan(LEADERS * BURST);
});
