import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { accountKey } from "../../src/controllers/account/registry.ts";
import { createRandom } from "../../src/simulator/random.ts";
import { manifest } from "../support/manifests.ts";
import { observeService } from "../support/observed-service.ts";
import { expectRate, turnsOf, untilServing, untilStarted } from "../support/serving.ts";
import { createWorld, eventually, type Operator } from "../support/world.ts";

const RATE = 10;
const BURST = 10;
/** By hand, more: `MOORING_SERVERS=20 npx vitest run test/faults/rate-across-servers`. */
const SERVERS = Number(process.env.MOORING_SERVERS ?? 4);
const ENDPOINTS = 80 * SERVERS;

it(`${SERVERS} processes that serve an account one after the other, under load, never exceed its rate`, {
  timeout: SERVERS * 60_000,
}, async () => {
  const random = createRandom(1);
  const world = await createWorld("rate", { account: null });
  const servers: Operator[] = [];
  const service = await observeService(world.simulator.url, () => servers.map(({ pid }) => pid));
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
  const account = accountKey("Account", "default", world.namespace);
  const start = async () => {
    const operator = await world.startOperator();
    servers.push(operator);
    return operator;
  };
  // Two at a time: the next one takes over when this one is killed or stopped.
  let server = await start();
  for (let change = 0; change < SERVERS; change++) {
    const { pid } = server;
    await untilServing(server, account);
    const next = await start();
    const ofServer = () => service.calls.filter((call) => call.pid === pid);
    await eventually("the server calls", async () => ofServer().length > BURST);
    await untilStarted(next);
    await sleep(1_000 * random.next());
    await (change % 3 === 2 ? server.kill() : server.stop());
    server = next;
  }

  const turns = turnsOf(service.calls, servers);
  // Nobody calls again after the next server.
  expect(turns.map(({ operator }) => operator.pid)).toEqual([...new Set(turns.map(({ operator }) => operator.pid))]);
  expect(turns.length).toBeGreaterThanOrEqual(SERVERS);
  for (const turn of turns) expectRate(turn, account, RATE);
  expect(service.calls.length).toBeGreaterThan(SERVERS * BURST);
});
