import { pino } from "pino";
import { accountResource, artifactStoreResource } from "../../../src/api/v1alpha1/kinds.ts";
import { configMapResource, namespaceResource, secretResource } from "../../../src/kube/resource.ts";
import { type CoreAnswer, type CoreRequest, createCore } from "../../../src/simulator/core.ts";
import { createService, type Service } from "../../../src/simulator/service.ts";
import type { JsonValue } from "../../sim/api-server/json.ts";
import { createApiServer } from "../../sim/api-server/server.ts";
import { createStorage, type Storage } from "../../sim/api-server/storage.ts";
import { EPOCH_MS } from "../../sim/engine/process-clock.ts";
import { createScheduler, type Scheduler } from "../../sim/engine/scheduler.ts";
import { createUuids } from "../../sim/engine/uuids.ts";
import { CALM } from "../../sim/network/weather.ts";
import { OPERATOR_NAMESPACE, startProcess } from "../../sim/operator/process.ts";
import { type Cluster, createCluster } from "../../sim/scenario/cluster.ts";
import { base64 } from "../../support/manifests.ts";
import { NAMESPACE, NOWHERE } from "./cases.ts";

/** Every value of a Secret contains it; nothing else does. */
export const CANARY = "canary-0123456789";
const API_KEY = `${CANARY}-key`;

/** A request of the operator that can change something, and its response. */
export type ApiWrite = { method: string; path: string; body: JsonValue | undefined; status: number };
export type ServiceCall = { request: CoreRequest; answer: CoreAnswer };

/** What the operator did since it was asked the last time. */
export type Observed = { writes: ApiWrite[]; calls: ServiceCall[]; log: string[]; exits: string[] };

/** A cluster, the service and one operator without faults. */
export type SpecWorld = {
  scheduler: Scheduler;
  cluster: Cluster;
  storage: Storage;
  service: Service;
  observed(): Observed;
  end(): void;
};

/** @param artifactRoot folder for the volumes of ArtifactStores */
export function createSpecWorld(artifactRoot: string): SpecWorld {
  const scheduler = createScheduler(1);
  const now = () => EPOCH_MS + scheduler.now();
  const storage = createStorage();
  const server = createApiServer({ storage, now, uid: createUuids(scheduler.random("uids")) });
  const cluster = createCluster(server);
  createObjects(cluster);
  const service = createService({
    seed: 1,
    now,
    sleep: async () => {},
    config: {
      apiKeys: [API_KEY],
      publicURL: NOWHERE,
      deleteOperation: { method: "DELETE", path: "/endpoints/{id}" },
      // The interface shows no required field.
      videoToVideoRequires: [],
      prices: { gpuPerCardHour: 0 },
      queueMs: [100, 500],
      speechTaskMs: [500, 1_000],
      videoTaskMs: [500, 2_000],
      speechMaxCharacters: 1_000_000,
    },
  });
  const core = createCore(service);
  let seen = emptyObserved();
  const log = pino(
    { level: "debug", base: null, timestamp: false },
    { write: (line: string) => void seen.log.push(line) },
  );
  const network = { scheduler, counts: new Map<string, number>(), weather: () => CALM };
  const process = startProcess({
    identity: "operator-1",
    scheduler,
    skewMs: 0,
    log,
    artifactRoot,
    api: () => ({
      ...network,
      server,
      random: scheduler.random("api"),
      onSend: () => {},
      onEffect(request, status) {
        if (request.method !== "GET") seen.writes.push({ ...request, status });
      },
    }),
    service: () => ({
      ...network,
      random: scheduler.random("service"),
      call: async (request) => {
        const answer = await core.call(request);
        seen.calls.push({ request, answer });
        return answer;
      },
      onSend: () => {},
    }),
    onExit: (reason) => void seen.exits.push(reason),
  });
  return {
    scheduler,
    cluster,
    storage,
    service,
    observed() {
      const result = seen;
      seen = emptyObserved();
      return result;
    },
    end: () => process.kill(),
  };
}

const emptyObserved = (): Observed => ({ writes: [], calls: [], log: [], exits: [] });

/** What the bases refer to. */
function createObjects(cluster: Cluster): void {
  for (const name of ["kube-system", OPERATOR_NAMESPACE, NAMESPACE]) {
    cluster.create(namespaceResource, undefined, { metadata: { name, labels: { team: "a" } } });
  }
  cluster.create(secretResource, NAMESPACE, { metadata: { name: "key" }, data: { apiKey: base64(API_KEY) } });
  for (const name of ["values", "other"]) {
    const data = { value: base64(`${CANARY}-value`), other: base64(`${CANARY}-other`) };
    cluster.create(secretResource, NAMESPACE, { metadata: { name }, data });
    cluster.create(configMapResource, NAMESPACE, { metadata: { name }, data: { value: "one", other: "two" } });
  }
  cluster.create(artifactStoreResource, NAMESPACE, {
    metadata: { name: "volume" },
    spec: { volume: { path: "volume" } },
  });
  cluster.create(accountResource, NAMESPACE, {
    metadata: { name: "default" },
    spec: {
      baseURL: NOWHERE,
      apiKeySecretRef: { name: "key", key: "apiKey" },
      rateLimit: { requestsPerSecond: 1_000, burst: 1_000 },
      endpoints: { syncInterval: "30s", deleteOperation: { method: "DELETE", path: "/endpoints/{id}" } },
      speech: { maxCharacters: 1_000_000 },
    },
  });
}
