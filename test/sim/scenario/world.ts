import { pino } from "pino";
import { type CoreRequest, createCore } from "../../../src/simulator/core.ts";
import { createService, type Service } from "../../../src/simulator/service.ts";
import { createApiServer, type Lag } from "../api-server/server.ts";
import { createStorage, type Storage } from "../api-server/storage.ts";
import { EPOCH_MS } from "../engine/process-clock.ts";
import { createScheduler, type Scheduler } from "../engine/scheduler.ts";
import { createUuids } from "../engine/uuids.ts";
import { createBackoffWatch } from "../invariants/backoffs.ts";
import { createEndpointCensus, type EndpointCensus } from "../invariants/endpoints.ts";
import { createInputs } from "../invariants/inputs.ts";
import { createPayments, type Payments } from "../invariants/payments.ts";
import { createRecords, type Records, type Senders } from "../invariants/records.ts";
import { createRestores, type Restores } from "../invariants/restores.ts";
import { createServersWatch, type ServersWatch } from "../invariants/servers.ts";
import { createTraffic } from "../invariants/traffic.ts";
import { createJudge, type Judge } from "../invariants/violation.ts";
import { type Bucket, createBucket } from "../network/bucket.ts";
import { CALM, type FaultCounts, type Weather } from "../network/weather.ts";
import type { OperatorProcess, ProcessOptions } from "../operator/process.ts";
import { createReplicas, type Replicas } from "../operator/replicas.ts";
import { type Cluster, createCluster } from "./cluster.ts";
import { API_KEY, createBase, DELETE_OPERATION, FOREIGN_KEY, serialIn, spareKey } from "./manifests.ts";
import type { Plan } from "./plan.ts";
import { createTampering, type Tampering } from "./tampering.ts";

/** One simulated cluster, remote service and operator. */
export type World = {
  plan: Plan;
  scheduler: Scheduler;
  storage: Storage;
  cluster: Cluster;
  service: Service;
  replicas: Replicas;
  judge: Judge;
  bucket: Bucket;
  payments: Payments;
  census: EndpointCensus;
  servers: ServersWatch;
  restores: Restores;
  records: Records;
  tampering: Tampering;
  weather: { api: Weather; service: Weather };
  /** Until when the CRDs are older than the operator, ms since the beginning. */
  schema: { pruneUntil: number };
  /** Paths of the statuses that a fault refused for their size or content. */
  refusedStatuses: Set<string>;
  counts: FaultCounts;
  /** Requests that the service got, by operation. */
  calls: Map<string, number>;
  /** Where processes list and watch that start at `since` or later. */
  staleness: { current: { since: number; lag: Lag } | undefined };
};

export type RunOptions = {
  /** Of the processes; default silent. Their logs are searched for secrets. */
  logLevel?: string;
  onLog?: (line: string) => void;
  /** Gets each line of the trace. */
  onTrace?: (line: string) => void;
};

export function createWorld(plan: Plan, options: RunOptions = {}): World {
  const scheduler = createScheduler(plan.seed, options.onTrace);
  const storage = createStorage();
  const judge = createJudge(scheduler.now);
  const schema = { pruneUntil: 0 };
  const server = createApiServer({
    storage,
    prunes: () => scheduler.now() < schema.pruneUntil,
    now: () => EPOCH_MS + scheduler.now(),
    uid: createUuids(scheduler.random("uids")),
    streamingLists: plan.streamingLists,
  });
  const cluster = createCluster(server);
  createBase(cluster, plan);

  const service = createService({
    seed: plan.seed,
    now: () => EPOCH_MS + scheduler.now(),
    sleep: async () => {},
    config: {
      apiKeys: [API_KEY, FOREIGN_KEY, ...Array.from({ length: plan.spares }, (_, index) => spareKey(index))],
      keySees: "Member",
      listDelayMs: plan.listDelayMs,
      duplicateAppName: plan.duplicateAppName,
      deleteOperation: DELETE_OPERATION,
      prices: { gpuPerCardHour: 0 },
      queueMs: [500, 4_000],
      videoTaskMs: [2_000, 40_000],
    },
  });
  const core = createCore(service);
  const senders: Senders = {
    isAlive: (identity) => replicas.running().some((one) => one.identity === identity),
    endOf: (identity) => replicas.endOf(identity),
  };
  const apiFails = (from: number, until: number) =>
    plan.faults.some((fault) => {
      const { at, forMs = 0 } = { forMs: undefined, ...fault };
      const isOfApi = fault.fault === "recordWrites" || ("of" in fault && fault.of === "api");
      return isOfApi && at < until && at + (forMs ?? 0) + LATEST_MS > from;
    });
  const records = createRecords({ storage, judge, senders, apiFails, now: scheduler.now });
  const tampering = createTampering({ plan, cluster, storage, records, senders });
  const payments = createPayments(plan, judge, {
    fateOf: (taskID) => {
      const { failure, endsAtMs } = service.tasks.get(taskID);
      return { fails: failure !== "", ended: endsAtMs <= service.now() };
    },
    untraced: tampering.untraced,
  });
  const census = createEndpointCensus(service.endpoints, judge, tampering.untraced);
  const restores = createRestores({
    now: scheduler.now,
    judge,
    lastSender: (serial) => records.lastFlight(serial)?.sender,
    hasEnded: (identity) => senders.endOf(identity) !== undefined,
  });
  const traffic = createTraffic(scheduler.now, judge);
  const servers = createServersWatch(storage, scheduler.now, judge);
  const backoffs = createBackoffWatch(storage, scheduler.now, judge);
  const isReused = ({ body }: CoreRequest) => {
    const serial = serialIn(JSON.stringify(body ?? null));
    const isItem = (plan.batches ?? []).some(({ serials, reuse }) => reuse && serials.some((one) => one === serial));
    return isItem || plan.objects.some((object) => object.serial === serial && object.reuse === true);
  };
  const weather = { api: CALM, service: CALM };
  const refusedStatuses = new Set<string>();
  const counts: FaultCounts = new Map();
  const calls = new Map<string, number>();
  const staleness: World["staleness"] = { current: undefined };

  const log = pino(
    { level: options.logLevel ?? "silent", base: null, timestamp: false },
    {
      write: (line: string) => {
        traffic.logged(line);
        options.onLog?.(line);
      },
    },
  );
  const bucket = createBucket({
    expiresAt: (id) => service.files.find(id)?.expiresAtMs,
    now: () => service.now(),
    judge,
  });
  const inputs = createInputs({ plan, storage, bucket, judge, now: () => service.now() });
  const network = { scheduler, counts };
  const lagOf = (startedAt: number) => () => {
    const { current } = staleness;
    return current !== undefined && startedAt >= current.since && scheduler.now() < current.lag.until
      ? current.lag
      : undefined;
  };
  const wiring = (
    of: () => OperatorProcess | undefined,
    identity: string,
  ): Pick<ProcessOptions, "api" | "service" | "storage" | "log" | "scheduler"> => ({
    scheduler,
    log,
    api: () => ({
      ...network,
      server,
      lag: lagOf(scheduler.now()),
      weather: () => weather.api,
      random: scheduler.random(`api ${identity}`),
      onSend(request, moment) {
        if (moment === "Before") {
          traffic.toApi(identity, request);
          servers.toApi(identity, request);
        }
        const isWrite = request.method !== "GET" && !request.path.includes("/leases/");
        replicas.sent(of(), isWrite ? "ApiWrite" : "Read", moment);
      },
      onEffect: () => {},
      onRefusal: ({ path }) => void refusedStatuses.add(path),
    }),
    storage: (time) =>
      bucket.storageOf(identity, {
        scheduler,
        time,
        weather: () => weather.service,
        random: scheduler.random(`stores ${identity}`),
      }),
    service: () => ({
      ...network,
      weather: () => weather.service,
      random: scheduler.random(`service ${identity}`),
      call: async (request) => {
        const answer = await core.call(request);
        calls.set(answer.operation, (calls.get(answer.operation) ?? 0) + 1);
        payments.accepted(request, answer);
        census.accepted(request, answer);
        if (answer.effect === "TaskSubmitted") inputs.accepted(request);
        if (answer.effect === "TaskSubmitted" && answer.id !== undefined) records.accepted(request, answer.id);
        const serial = serialIn(JSON.stringify(request.body ?? null));
        if (answer.effect === "EndpointCreated" && serial !== undefined) tampering.created(serial);
        return answer;
      },
      onSend(request, moment) {
        if (moment === "Before") {
          traffic.toService(identity, request);
          servers.toService(identity, request);
          // Another object may send the same request.
          if (!isReused(request)) backoffs.sent(identity, request);
          if (!isReused(request)) restores.sent(request);
          records.sent(identity, request);
        }
        replicas.sent(of(), request.method === "GET" ? "Read" : "ServiceWrite", moment);
      },
      // A response in the service's own format. Its 5xx proves nothing.
      onEnd(request, response) {
        backoffs.ended(identity, request, response);
        records.ended(request, response !== undefined && response.status < 500 ? "Clear" : "Ambiguous");
      },
    }),
  });
  const replicas = createReplicas({ count: plan.replicas, scheduler, wiring });
  const judges = { judge, bucket, payments, census, servers, restores, records, tampering, refusedStatuses };
  return { plan, scheduler, storage, cluster, service, replicas, ...judges, weather, schema, counts, calls, staleness };
}

/** A write can be stored so long after its fault ends. */
const LATEST_MS = 45_000;
