import { fastify } from "fastify";
import { pino } from "pino";
import { z } from "zod";
import { KINDS } from "../../../src/api/v1alpha1/kinds.ts";
import { createKubeClient, type KubeClient } from "../../../src/kube/client.ts";
import type { Connections } from "../../../src/kube/connections.ts";
import { configMapResource, namespaceResource, type Resource, secretResource } from "../../../src/kube/resource.ts";
import type { Metrics } from "../../../src/runtime/metrics.ts";
import type { AssumptionsInput } from "../../../src/simulator/assumptions.ts";
import { createCore } from "../../../src/simulator/core.ts";
import { controlRoutes } from "../../../src/simulator/routes/control.ts";
import { fileRoutes } from "../../../src/simulator/routes/files.ts";
import { createService, type Service } from "../../../src/simulator/service.ts";
import { anonymous } from "../../../tools/cluster/credentials.ts";
import { base64, merged } from "../../support/manifests.ts";
import { type AnyObject, type AuditEntry, condition, type World } from "../../support/world.ts";
import { parseJson } from "../api-server/json.ts";
import { ruleProblems } from "../api-server/rules.ts";
import { type ApiServer, createApiServer } from "../api-server/server.ts";
import { createStorage, type Storage } from "../api-server/storage.ts";
import { EPOCH_MS, type ProcessTime } from "../engine/process-clock.ts";
import { createScheduler, type Scheduler, settled } from "../engine/scheduler.ts";
import { createUuids } from "../engine/uuids.ts";
import { type ApiNetwork, answerOf } from "../network/api-connections.ts";
import { createBucket } from "../network/bucket.ts";
import type { ServiceNetwork } from "../network/service-dispatcher.ts";
import { CALM } from "../network/weather.ts";
import { OPERATOR_NAMESPACE, type OperatorProcess, startProcess } from "../operator/process.ts";
import { faultyCalls } from "./faulty-service.ts";
import { createTime, hasRealWork, QUIET_TURNS, type StageTime } from "./time.ts";

export const API_KEY = "simulator-key";
export const NAMESPACE = "team";

/**
 * The world of a test in simulated time: the same calls as with a real API server (test/support/world.ts), which take no time. Time
 * passes only in `pass` and `eventually`. Users call from one function at a time, or from several that `together` starts.
 */
export type Stage = Pick<
  World,
  "namespace" | "kube" | "apply" | "get" | "patch" | "list" | "remove" | "audit" | "state" | "control"
> &
  StageTime & {
    scheduler: Scheduler;
    storage: Storage;
    service: Service;
    /** Starts a process of the operator. */
    start(hooks?: Hooks): OperatorProcess;
    /** What the processes logged. */
    log(): string;
    /** How many lines of it contain this text. */
    logged(text: string): number;
    /** Why processes ended by themselves, and what went wrong in a simulated store. */
    exits(): string[];
    end(): Promise<void>;
  };

/** What a test sees and changes between a process and both servers. */
export type Hooks = {
  api?: (server: ApiServer) => Partial<ApiNetwork>;
  service?: (of: ServiceNetwork) => Partial<ServiceNetwork>;
  metrics?: Metrics;
};

export type StageOptions = {
  seed?: number;
  simulator?: AssumptionsInput;
  /** Merged into the spec of Account `default`; null leaves the account out. */
  account?: Record<string, unknown> | null;
  /** Folder for the volumes of ArtifactStores. Results are served by a socket then: their copies take real time. */
  artifactRoot?: string;
  /** Stores are simulated: copies take simulated time. */
  bucket?: boolean;
};

const RESOURCES = new Map(
  [...KINDS.map(({ resource }) => resource), secretResource, configMapResource].map((one) => [one.kind, one]),
);

export async function createStage(options: StageOptions = {}): Promise<Stage> {
  const { seed = 1, artifactRoot } = options;
  const scheduler = createScheduler(seed);
  const now = () => EPOCH_MS + scheduler.now();
  const storage = createStorage();
  const server = createApiServer({ storage, now, uid: createUuids(scheduler.random("uids")), rules: ruleProblems });
  const kube = instantClient(server);
  const service = createService({
    seed,
    now,
    sleep: (ms) => new Promise((resolve) => void scheduler.after(ms, resolve)),
    config: { bootDelayMs: 0, apiKeys: [API_KEY], ...options.simulator },
  });
  const web = fastify({ forceCloseConnections: true });
  controlRoutes(web, service);
  fileRoutes(web, service);
  if (artifactRoot !== undefined) service.configure({ publicURL: await web.listen({ port: 0, host: "127.0.0.1" }) });
  const call = faultyCalls(service, createCore(service));
  const started: OperatorProcess[] = [];
  const lines: string[] = [];
  const exits: string[] = [];
  const log = pino(
    { level: "debug", base: null, timestamp: false },
    { write: (line: string) => void lines.push(line) },
  );
  const bucket = createBucket({
    expiresAt: (id) => service.files.find(id)?.expiresAtMs,
    now,
    judge: { violated: (invariant, message) => void exits.push(`${invariant}: ${message}`), first: () => undefined },
  });
  /** Calls of users that wait for something real. */
  let calling = 0;

  const resource = (kind: string): Resource => {
    const found = RESOURCES.get(kind);
    if (found === undefined) throw new Error(`the stage knows no kind ${kind}`);
    return found;
  };
  const isBusy = () => calling > 0 || (artifactRoot !== undefined && hasRealWork());
  const time = createTime(scheduler, isBusy, artifactRoot === undefined ? 1 : QUIET_TURNS);
  const at = (kind: string) => (resource(kind).namespaced ? { namespace: NAMESPACE } : {});
  async function control(method: string, url: string, payload?: unknown): Promise<unknown> {
    calling += 1;
    const answer = await web
      .inject({
        method: method === "GET" || method === "DELETE" ? method : "POST",
        url,
        ...(payload === undefined ? {} : { payload: JSON.stringify(payload) }),
        ...(payload === undefined ? {} : { headers: { "content-type": "application/json" } }),
      })
      .finally(() => {
        calling -= 1;
      });
    if (answer.statusCode >= 300) throw new Error(`${method} ${url}: ${answer.statusCode} ${answer.body}`);
    return answer.json();
  }

  const bucketOf = (identity: string) => (time: ProcessTime) =>
    bucket.storageOf(identity, {
      ...{ scheduler, time, weather: () => CALM },
      random: scheduler.random(`stores ${identity}`),
    });

  const stage: Stage = {
    namespace: NAMESPACE,
    ...{ kube, scheduler, storage, service, control },
    apply: ({ metadata, spec, ...object }) =>
      kube.create<AnyObject>(resource(object.kind), at(object.kind), {
        apiVersion: "mooring.dev/v1alpha1",
        spec: record.parse(spec ?? {}),
        ...object,
        metadata: { ...metadata, ...at(object.kind) },
      }),
    get: (kind, name) => kube.get<AnyObject>(resource(kind), { ...at(kind), name }),
    patch: (kind, name, patch) => kube.mergePatch<AnyObject>(resource(kind), { ...at(kind), name }, patch),
    list: async (kind) => (await kube.list<AnyObject>(resource(kind), at(kind))).items,
    remove: (kind, name) => kube.delete(resource(kind), { ...at(kind), name }),
    audit: async (operation) => entries.parse(service.audit.list({ operation })),
    state: async () => state.parse(await control("GET", "/__state")),
    ...time,
    start(hooks: Hooks = {}) {
      const identity = `operator-${started.length + 1}`;
      const network = { scheduler, counts: new Map<string, number>(), weather: () => CALM };
      const plainService: ServiceNetwork = {
        ...network,
        random: scheduler.random(`service ${identity}`),
        call,
        onSend: () => {},
      };
      const process = startProcess({
        ...{ identity, scheduler, skewMs: 0, log },
        ...(artifactRoot === undefined ? {} : { artifactRoot }),
        ...(hooks.metrics === undefined ? {} : { metrics: hooks.metrics }),
        ...(options.bucket === true ? { storage: bucketOf(identity) } : {}),
        api: () => ({
          ...network,
          server,
          random: scheduler.random(`api ${identity}`),
          onSend: () => {},
          onEffect: () => {},
          ...hooks.api?.(server),
        }),
        service: (_time, origin) => ({
          ...plainService,
          ...(origin === new URL(serviceURL(service)).origin ? {} : { weather: () => ({ ...CALM, down: true }) }),
          ...hooks.service?.(plainService),
        }),
        onExit: (reason) => void exits.push(`${identity}: ${reason}`),
      });
      started.push(process);
      return process;
    },
    log: () => lines.join(""),
    logged: (text) => lines.filter((line) => line.includes(text)).length,
    exits: () => exits,
    async end() {
      for (const process of started) process.kill();
      for (const process of started) process.discard();
      await settled();
      await web.close();
    },
  };
  await createBase(stage, options);
  return stage;
}

const entries: z.ZodType<AuditEntry[]> = z.array(z.custom<AuditEntry>((value) => typeof value === "object"));
const record = z.record(z.string(), z.unknown());
const state = z.object({ endpoints: z.array(record), tasks: z.array(record) });

/** A client whose requests take no time. */
function instantClient(server: ApiServer): KubeClient {
  const connect = (): Connections => ({
    async send({ method, path, body }) {
      const url = new URL(path, "http://api");
      const result = server.call({
        method,
        path: url.pathname,
        query: url.searchParams,
        body: typeof body === "string" ? parseJson(body) : undefined,
      });
      if ("watch" in result) throw new Error(`${path} is a watch`);
      return answerOf(result.status, JSON.stringify(result.body));
    },
    close: async () => {},
  });
  return createKubeClient(anonymous("http://api.invalid"), { connect });
}

const serviceURL = (service: Service) => service.config().publicURL ?? "http://service.invalid";

async function createBase({ kube, apply, service }: Stage, { account }: StageOptions): Promise<void> {
  for (const name of ["kube-system", OPERATOR_NAMESPACE, NAMESPACE])
    await kube.create(namespaceResource, {}, { metadata: { name }, spec: {} });
  await apply({ apiVersion: "v1", kind: "Secret", metadata: { name: "key" }, data: { apiKey: base64(API_KEY) } });
  if (account === null) return;
  const spec = {
    baseURL: serviceURL(service),
    apiKeySecretRef: { name: "key", key: "apiKey" },
    rateLimit: { requestsPerSecond: 2000, burst: 2000 },
  };
  await apply({ kind: "Account", metadata: { name: "default" }, spec: merged(spec, account ?? {}) });
}

/** Waits for a condition of an object, and shows the whole status when it does not come. */
export async function waitForCondition(
  stage: Stage,
  kind: string,
  name: string,
  type: string,
  status = "True",
): Promise<AnyObject> {
  let last: AnyObject | undefined;
  const isSo = async () => {
    last = await stage.get(kind, name);
    return condition(last, type)?.status === status && last;
  };
  return stage.eventually(`${kind} ${name} ${type}=${status}`, isSo).catch((error: unknown) => {
    throw new Error(`${error}\n${JSON.stringify(last?.status, null, 2)}`);
  });
}
