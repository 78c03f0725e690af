import { setImmediate as settled } from "node:timers/promises";
import { pino } from "pino";
import { endpoint } from "../../bench/manifests.ts";
import { accountResource, clusterAccountResource, gpuEndpointResource } from "../../src/api/v1alpha1/kinds.ts";
import { namespaceResource } from "../../src/kube/resource.ts";
import { createMetrics } from "../../src/runtime/metrics.ts";
import { createCore } from "../../src/simulator/core.ts";
import { createService } from "../../src/simulator/service.ts";
import { textAt } from "./api-server/json.ts";
import { createApiServer } from "./api-server/server.ts";
import { createStorage } from "./api-server/storage.ts";
import { EPOCH_MS } from "./engine/process-clock.ts";
import { createScheduler } from "./engine/scheduler.ts";
import { createUuids } from "./engine/uuids.ts";
import { condition } from "./invariants/stability.ts";
import { CALM } from "./network/weather.ts";
import { type OperatorProcess, startProcess } from "./operator/process.ts";
import { createCluster } from "./scenario/cluster.ts";
import { API_KEY, secretResource } from "./scenario/manifests.ts";

const TEAM = "team-a";

/** What one operator has done since its start. */
export type StartCounts = {
  /** Of GpuEndpoints. */
  reconciles: number;
  /** Leases are renewed and read every 2 s, and do not count. */
  apiRequests: number;
  /** How often the operator has reported that its first lists are stored. */
  listed: number;
  /** Requests to the service by operation. */
  service: Record<string, number>;
};

/** Endpoints that exist in the cluster before an operator starts. Nothing fails. */
export type StartScene = {
  /** Starts an operator, and lets time pass until `done` holds for its requests to the service. Returns the counts of that moment. */
  startUntil(done: (service: StartCounts["service"]) => boolean): Promise<StartCounts>;
  /** Lets time pass. Returns the counts of the running operator. */
  pass(ms: number): Promise<StartCounts>;
  /** Kills the running operator. */
  kill(): void;
  readyEndpoints(): number;
};

type Running = { process: OperatorProcess; service: StartCounts["service"]; counts: () => Promise<StartCounts> };

const LIMIT_MS = 10 * 60_000;

export function createStartScene(options: {
  endpoints: number;
  accountKind: "Account" | "ClusterAccount";
}): StartScene {
  const scheduler = createScheduler(2);
  const now = () => EPOCH_MS + scheduler.now();
  const server = createApiServer({
    storage: createStorage(),
    now,
    uid: createUuids(scheduler.random("uids")),
    streamingLists: true,
  });
  const cluster = createCluster(server);
  for (const name of ["kube-system", "mooring", TEAM])
    cluster.create(namespaceResource, undefined, { metadata: { name } });
  cluster.create(secretResource, TEAM, {
    metadata: { name: "key" },
    data: { apiKey: Buffer.from(API_KEY).toString("base64") },
  });
  const isNamespaced = options.accountKind === "Account";
  const keyRef = { name: "key", key: "apiKey", ...(isNamespaced ? {} : { namespace: TEAM }) };
  cluster.create(isNamespaced ? accountResource : clusterAccountResource, isNamespaced ? TEAM : undefined, {
    metadata: { name: "default" },
    spec: {
      baseURL: "http://service.invalid",
      apiKeySecretRef: keyRef,
      rateLimit: { requestsPerSecond: 10_000, burst: 1_000 },
    },
  });
  for (let index = 0; index < options.endpoints; index++) {
    cluster.create(gpuEndpointResource, TEAM, endpoint(`e-${index}`));
  }
  const service = createService({
    seed: 1,
    now,
    sleep: async () => {},
    config: { apiKeys: [API_KEY], bootDelayMs: 0 },
  });
  const core = createCore(service);
  const network = { scheduler, counts: new Map<string, number>(), weather: () => CALM };
  let running: Running | undefined;
  let starts = 0;

  function start(): Running {
    const metrics = createMetrics({ process: false });
    const identity = `operator-${starts++}`;
    let apiRequests = 0;
    let listed = 0;
    const calls: Record<string, number> = {};
    const process = startProcess({
      identity,
      scheduler,
      skewMs: 0,
      log: pino({ level: "silent" }),
      metrics,
      api: () => ({
        ...network,
        server,
        random: scheduler.random(`api ${identity}`),
        onSend({ path }, moment) {
          if (moment === "Before" && !path.includes("/leases")) apiRequests++;
        },
        onEffect: () => {},
      }),
      service: () => ({
        ...network,
        random: scheduler.random(`service ${identity}`),
        async call(request) {
          const answer = await core.call(request);
          calls[answer.operation] = (calls[answer.operation] ?? 0) + 1;
          return answer;
        },
        onSend: () => {},
      }),
      onListed: () => {
        listed++;
      },
      onExit: (reason) => {
        throw new Error(reason);
      },
    });
    return {
      process,
      service: calls,
      async counts() {
        const { values } = await metrics.reconcileTotal.get();
        const reconciles = values.filter(({ labels }) => labels.controller === "gpuendpoint");
        return {
          reconciles: reconciles.reduce((sum, { value }) => sum + value, 0),
          apiRequests,
          listed,
          service: { ...calls },
        };
      },
    };
  }

  async function counts(): Promise<StartCounts> {
    if (running === undefined) throw new Error("no operator runs");
    return running.counts();
  }

  return {
    async startUntil(done) {
      running = start();
      await settled(); // the first request makes the first event
      const limit = scheduler.now() + LIMIT_MS;
      while (!done(running.service)) {
        if (!(await scheduler.step(limit))) throw new Error(`not so: ${JSON.stringify(await counts())}`);
      }
      return counts();
    },
    async pass(ms) {
      const until = scheduler.now() + ms;
      while (await scheduler.step(until));
      return counts();
    },
    kill() {
      running?.process.kill();
      running?.process.discard();
      running = undefined;
    },
    readyEndpoints: () =>
      cluster.list(gpuEndpointResource).filter((object) => textAt(condition(object, "Ready"), "status") === "True")
        .length,
  };
}
