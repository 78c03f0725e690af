import { expect, it } from "vitest";
import { createKubeClient } from "../../../src/kube/client.ts";
import { anonymous } from "../../../tools/cluster/credentials.ts";
import { createApiServer } from "../api-server/server.ts";
import { createStorage } from "../api-server/storage.ts";
import { createProcessTime, EPOCH_MS } from "../engine/process-clock.ts";
import { createScheduler } from "../engine/scheduler.ts";
import { createApiConnections } from "../network/api-connections.ts";
import { CALM } from "../network/weather.ts";
import { CASES, recorded } from "./cases.ts";

/** A client of an API server in memory, and the events that carry its messages. */
function inMemory() {
  const scheduler = createScheduler(1);
  const uids = scheduler.random("uids");
  const storage = createStorage(100);
  const server = createApiServer({
    storage,
    now: () => EPOCH_MS + scheduler.now(),
    uid: () => `${uids.hex(8)}-0000-4000-8000-${uids.hex(12)}`,
  });
  const time = createProcessTime(scheduler, 0);
  const network = { scheduler, server, weather: () => CALM, random: scheduler.random("network"), counts: new Map() };
  const unobserved = { onSend: () => {}, onEffect: () => {} };
  const connections = createApiConnections({ ...network, ...unobserved }, time, 30_000);
  return { scheduler, kube: createKubeClient(anonymous("http://api.invalid"), { connect: () => connections }) };
}

// test/integration/api-server-conformance.test.ts compares the same recordings with a real API server.
it.each(CASES)("the API server in memory: $name", async ({ name, run }) => {
  const { scheduler, kube } = inMemory();
  let isDone = false;
  const running = run({ kube, namespace: "case" }).finally(() => {
    isDone = true;
  });
  while (!isDone && (await scheduler.step(60_000)));
  await expect(recorded(await running, "case")).toMatchFileSnapshot(`recorded/${name.replaceAll(/\W+/g, "-")}.txt`);
});
