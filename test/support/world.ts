import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { inject } from "vitest";
import {
  accountResource,
  artifactStoreResource,
  billReportResource,
  gpuEndpointResource,
  mediaBatchResource,
  speechJobResource,
  videoJobResource,
} from "../../src/api/v1alpha1/kinds.ts";
import { createKubeClient, type KubeClient } from "../../src/kube/client.ts";
import { loadCredentials } from "../../src/kube/credentials.ts";
import { isNotFound } from "../../src/kube/errors.ts";
import { configMapResource, namespaceResource, type Resource, secretResource } from "../../src/kube/resource.ts";
import type { Condition, KubeObject } from "../../src/kube/types.ts";
import type { AssumptionsInput } from "../../src/simulator/assumptions.ts";
import { createSimulator, type Simulator } from "../../src/simulator/server.ts";

export const BUNDLE = fileURLToPath(new URL("../../dist/mooring.mjs", import.meta.url));
export const API_KEY = "simulator-key";

const RESOURCES: Record<string, Resource> = {
  Account: accountResource,
  ArtifactStore: artifactStoreResource,
  BillReport: billReportResource,
  GpuEndpoint: gpuEndpointResource,
  MediaBatch: mediaBatchResource,
  SpeechJob: speechJobResource,
  VideoJob: videoJobResource,
  Secret: secretResource,
  ConfigMap: configMapResource,
  Event: { group: "events.k8s.io", version: "v1", plural: "events", kind: "Event", namespaced: true },
};

export type AnyStatus = { conditions?: Condition[]; [field: string]: unknown };
export type AnyObject = KubeObject<Record<string, unknown>, AnyStatus>;
export type AuditEntry = {
  seq: number;
  time: string;
  operation: string;
  method: string;
  path: string;
  query?: Record<string, string>;
  body?: Record<string, unknown>;
  status: number | string;
  effect?: unknown;
  id?: string;
  fault?: string;
};

/** One operator process, from the bundle. */
export type Operator = {
  pid: number;
  log(): string;
  exited: Promise<number | null>;
  /** SIGKILL. */
  kill(): Promise<void>;
  /** SIGTERM, and waits. */
  stop(): Promise<number | null>;
};

export type WorldOptions = {
  simulator?: AssumptionsInput;
  /** Merged into the spec of Account `default`; null leaves the account out. */
  account?: Record<string, unknown> | null;
  apiKey?: string;
  /** Of the simulator's identifiers: worlds that must not share them have different ones. */
  seed?: number;
  /** Of a control plane of the test's own; default: that of all tests. */
  kubeconfig?: string;
};

/**
 * `within`: a program with arguments that replaces itself by the operator, such as a shell that enters a cgroup first. `nodeFlags`: of Node;
 * default: none, which is how most tests start it.
 */
export type StartOptions = { kubeconfig?: string; args?: string[]; within?: string[]; nodeFlags?: readonly string[] };

/**
 * A namespace, a simulator and an operator that watches this namespace alone, for the tests of one case. The Account
 * `default` points at the simulator.
 */
export type World = {
  namespace: string;
  kube: KubeClient;
  simulator: Simulator;
  startOperator(options?: StartOptions): Promise<Operator>;
  apply(
    object: { kind: string; metadata: { name: string }; spec?: unknown } & Record<string, unknown>,
  ): Promise<AnyObject>;
  get(kind: string, name: string): Promise<AnyObject>;
  patch(kind: string, name: string, patch: object): Promise<AnyObject>;
  list(kind: string): Promise<AnyObject[]>;
  remove(kind: string, name: string): Promise<void>;
  audit(operation?: string): Promise<AuditEntry[]>;
  state(): Promise<{ endpoints: Record<string, unknown>[]; tasks: Record<string, unknown>[] }>;
  control(method: string, path: string, body?: unknown): Promise<unknown>;
  close(): Promise<void>;
};

/** A world that is taken down after the tests of the file. */
export async function createWorld(prefix: string, options: WorldOptions = {}): Promise<World> {
  const cluster = options.kubeconfig ?? inject("kubeconfig");
  const kube = createKubeClient(await loadCredentials({ kubeconfig: cluster }));
  const namespace = `${prefix}-${randomBytes(4).toString("hex")}`;
  await kube.create(namespaceResource, {}, { metadata: { name: namespace }, spec: {} });
  const simulator = await createSimulator({
    ...(options.seed === undefined ? {} : { seed: options.seed }),
    config: { bootDelayMs: 0, timeScale: 0.1, apiKeys: [API_KEY], ...options.simulator },
  });
  const operators = new Set<Operator>();

  const resource = (kind: string): Resource => {
    const found = RESOURCES[kind];
    if (found === undefined) throw new Error(`the test world knows no kind ${kind}`);
    return found;
  };
  const world: World = {
    namespace,
    kube,
    simulator,
    async startOperator({ kubeconfig = cluster, args = [], within = [], nodeFlags = [] } = {}) {
      const operator = await spawnOperator(namespace, kubeconfig, args, { within, nodeFlags });
      operators.add(operator);
      return operator;
    },
    apply: (object) =>
      kube.create<AnyObject>(resource(object.kind), { namespace }, {
        apiVersion: "mooring.dev/v1alpha1",
        spec: {},
        ...object,
        metadata: { ...object.metadata, namespace },
      } as AnyObject),
    get: (kind, name) => kube.get<AnyObject>(resource(kind), { namespace, name }),
    patch: (kind, name, patch) => kube.mergePatch<AnyObject>(resource(kind), { namespace, name }, patch),
    list: async (kind) => (await kube.list<AnyObject>(resource(kind), { namespace })).items,
    remove: (kind, name) => kube.delete(resource(kind), { namespace, name }),
    audit: async (operation) =>
      (await world.control(
        "GET",
        `/__audit${operation === undefined ? "" : `?operation=${operation}`}`,
      )) as AuditEntry[],
    state: async () => (await world.control("GET", "/__state")) as Awaited<ReturnType<World["state"]>>,
    async control(method, path, body) {
      const answer = await fetch(`${simulator.url}${path}`, {
        method,
        ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
      });
      if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
      return answer.json();
    },
    async close() {
      if (!open.delete(world)) return;
      await Promise.all([...operators].map((operator) => operator.kill()));
      await simulator.close();
      await kube.delete(namespaceResource, { name: namespace }).catch((error: unknown) => {
        if (!isNotFound(error)) throw error; // what a test deletes is gone
      });
      await kube.close();
    },
  };
  open.add(world);
  await world.apply({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "key" },
    stringData: { apiKey: options.apiKey ?? API_KEY },
  });
  if (options.account !== null) {
    await world.apply({
      kind: "Account",
      metadata: { name: "default" },
      spec: {
        baseURL: simulator.url,
        apiKeySecretRef: { name: "key", key: "apiKey" },
        rateLimit: { requestsPerSecond: 2000, burst: 2000 },
        ...options.account,
      },
    });
  }
  return world;
}

const open = new Set<World>();
const folders = new Set<string>();
/** Runs after each test file: see close-worlds.ts. */
export async function closeWorlds(): Promise<void> {
  await Promise.all([...open].map((world) => world.close()));
  await Promise.all([...folders].map((folder) => rm(folder, { recursive: true, force: true })));
  folders.clear();
}

async function spawnOperator(
  namespace: string,
  kubeconfig: string,
  args: string[],
  { within, nodeFlags }: Required<Pick<StartOptions, "within" | "nodeFlags">>,
): Promise<Operator> {
  const [program = process.execPath, ...before] = [...within, process.execPath, ...nodeFlags];
  const child: ChildProcess = spawn(
    program,
    [
      ...before,
      BUNDLE,
      "operator",
      `--kubeconfig=${kubeconfig}`,
      `--watch-namespaces=${namespace}`,
      `--operator-namespace=${namespace}`,
      "--metrics-bind-address=127.0.0.1:0",
      "--health-probe-bind-address=127.0.0.1:0",
      "--log-level=debug",
      "--allow-private-networks",
      ...args,
    ],
    { stdio: ["ignore", "pipe", "pipe"] },
  );
  let text = "";
  child.stdout?.on("data", (chunk: Buffer) => {
    text += chunk;
  });
  child.stderr?.on("data", (chunk: Buffer) => {
    text += chunk;
  });
  const exited = new Promise<number | null>((resolve) => child.on("exit", (code) => resolve(code)));
  const end = async (signal: "SIGKILL" | "SIGTERM") => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    return exited;
  };
  const operator: Operator = {
    pid: child.pid ?? 0,
    log: () => text,
    exited,
    kill: async () => void (await end("SIGKILL")),
    stop: () => end("SIGTERM"),
  };
  return operator;
}

/** Far beyond what a busy machine takes, and short of the time limit of a test. */
const GENEROUS_MS = 120_000;
/** `now`: ms. `pause`: between two looks. */
const REAL_TIME = { now: () => performance.now(), pause: (): Promise<void> => sleep(100) };

/** Waits until `probe` returns a value, and tells its last error or value if it never does. */
export async function eventually<T>(
  what: string,
  probe: () => Promise<T | undefined | false>,
  timeoutMs = GENEROUS_MS,
  { now, pause } = REAL_TIME,
): Promise<T> {
  const end = now() + timeoutMs;
  let last: unknown;
  for (;;) {
    try {
      const value = await probe();
      if (value !== undefined && value !== false) return value;
      last = value;
    } catch (error) {
      last = error;
    }
    if (now() > end) throw new Error(`${what}: not within ${timeoutMs / 1000} s; last: ${String(last)}`);
    await pause();
  }
}

/** The events of an object so far: `TYPE REASON: NOTE`, in no order. */
export async function eventsOf(world: World, kind: string, name: string): Promise<string[]> {
  const events = (await world.list("Event")) as unknown as {
    regarding: { kind: string; name: string };
    type: string;
    reason: string;
    note: string;
  }[];
  return events
    .filter(({ regarding }) => regarding.kind === kind && regarding.name === name)
    .map(({ type, reason, note }) => `${type} ${reason}: ${note}`);
}

export function condition(object: AnyObject, type: string): Condition | undefined {
  return object.status?.conditions?.find((one) => one.type === type);
}

/** Waits for a condition of an object, and shows the whole status when it does not come. */
export async function waitForCondition(
  world: World,
  kind: string,
  name: string,
  type: string,
  status = "True",
  timeoutMs = GENEROUS_MS,
): Promise<AnyObject> {
  let last: AnyObject | undefined;
  try {
    return await eventually(
      `${kind} ${name} ${type}=${status}`,
      async () => {
        last = await world.get(kind, name);
        return condition(last, type)?.status === status && last;
      },
      timeoutMs,
    );
  } catch (error) {
    throw new Error(`${error}\n${JSON.stringify(last?.status, null, 2)}`);
  }
}

/** A kubeconfig for an API server behind plain HTTP (a proxy of a test). */
export async function plainKubeconfig(server: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "mooring-kubeconfig-"));
  folders.add(folder);
  const path = join(folder, "kubeconfig");
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "test", cluster: { server } }],
    users: [{ name: "test", user: {} }],
    contexts: [{ name: "test", context: { cluster: "test", user: "test" } }],
    "current-context": "test",
  };
  await writeFile(path, JSON.stringify(config));
  return path;
}
