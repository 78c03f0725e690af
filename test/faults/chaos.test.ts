import { randomBytes } from "node:crypto";
import { inject, it, type TestContext } from "vitest";
import { type Clock, systemClock } from "../../src/base/clock.ts";
import { createKubeClient } from "../../src/kube/client.ts";
import { loadCredentials } from "../../src/kube/credentials.ts";
import { configMapResource, namespaceResource } from "../../src/kube/resource.ts";
import { createInformer } from "../../src/runtime/informer.ts";
import type { ChaosProxy } from "../../tools/chaos/chaos-proxy.ts";
import {
  createSightings,
  createWriter,
  judge,
  planOperations,
  runOperations,
} from "../../tools/chaos/chaos-scenario.ts";
import { anonymous } from "../../tools/cluster/credentials.ts";
import { capturedLog } from "../support/scripted-api-server.ts";
import { eventually } from "../support/world.ts";
import { chaosProxy, OBJECTS, SECONDS, SEED } from "./chaos-world.ts";

/** Ten times as fast, so that backoffs of 30 s leave room for faults in a short run. */
const hastyClock: Clock = {
  now: () => systemClock.now(),
  monotonic: () => systemClock.monotonic() * 10,
  setTimeout: (fn, ms) => systemClock.setTimeout(fn, ms / 10),
};

/** An informer of ConfigMaps behind the proxy, and a writer that is not. */
async function informed(test: TestContext, proxy: ChaosProxy) {
  const direct = createKubeClient(await loadCredentials({ kubeconfig: inject("kubeconfig") }));
  const client = createKubeClient(anonymous(proxy.url));
  const namespace = `chaos-${randomBytes(4).toString("hex")}`;
  await direct.create(namespaceResource, {}, { metadata: { name: namespace }, spec: {} });
  const { log, lines } = capturedLog();
  const informer = createInformer({
    client,
    resource: configMapResource,
    namespaces: [namespace],
    clock: hastyClock,
    random: Math.random,
    log,
  });
  const sightings = createSightings();
  informer.onChange((change) => {
    if (change.type === "Deleted") sightings.gone(change.object);
    else sightings.shown(change.object);
  });
  const stop = new AbortController();
  test.onTestFinished(async () => {
    stop.abort(new Error("the test is over"));
    await informer.stopped();
    await direct.delete(namespaceResource, { name: namespace });
    await Promise.all([client.close(), direct.close()]);
  });
  await informer.start(stop.signal);
  const { write, truth } = createWriter({
    client: direct,
    resource: configMapResource,
    namespace,
    build: (name, round) => ({ metadata: { name }, spec: undefined, data: { round: String(round) } }),
  });
  return { write, truth, lines, seen: () => sightings.report(informer.store.list()) };
}

it.concurrent.for([
  { lists: "streaming lists", streamingLists: true },
  { lists: "lists in pages", streamingLists: false },
])(
  `${OBJECTS} objects through chaos, with $lists: the informer ends right and has missed nothing`,
  { timeout: SECONDS * 1_000 + 180_000 },
  async ({ streamingLists }, test) => {
    const { expect } = test;
    const proxy = await chaosProxy(test, { streamingLists });
    const { write, truth, lines, seen } = await informed(test, proxy);
    proxy.rage(true);
    await runOperations(planOperations({ objects: OBJECTS, durationMs: SECONDS * 1_000, seed: SEED }), write);
    proxy.rage(false);
    // What is late may still come; what is lost does not come any more.
    const verdict = () => judge(truth, seen());
    await eventually("the informer shows what is there", async () => verdict().wrong.length === 0, 120_000).catch(() =>
      expect({ wrong: verdict().wrong, counts: proxy.counts(), log: lines.slice(-20) }).toEqual("nothing wrong"),
    );
    const { missed, deletionsMissed, unseen, ghosts } = verdict();
    expect({ missed, deletionsMissed, ghosts }).toEqual({ missed: [], deletionsMissed: [], ghosts: [] });
    const { faults, lists } = proxy.counts();
    expect(lists).toBeGreaterThan(1);
    expect(Object.values(faults).reduce((sum, count) => sum + count, 0)).toBeGreaterThan(10);
    console.log(
      `${truth.versions.size} versions, ${unseen.length} passed over by ${lists} lists; ${JSON.stringify(faults)}`,
    );
  },
);
