import { onTestFinished } from "vitest";
import type { GpuEndpoint, GpuEndpointStatus } from "../../../../src/api/v1alpha1/gpu-endpoint.ts";
import { gpuEndpointResource } from "../../../../src/api/v1alpha1/kinds.ts";
import { rfc3339 } from "../../../../src/base/clock.ts";
import {
  type AccountKey,
  type AccountRegistry,
  createAccountRegistry,
} from "../../../../src/controllers/account/registry.ts";
import { type ControllerDeps, createKind } from "../../../../src/controllers/controller-deps.ts";
import { claimIndexers } from "../../../../src/controllers/gpu-endpoint/claims.ts";
import { createGpuEndpointReconciler } from "../../../../src/controllers/gpu-endpoint/controller.ts";
import { unshownCreateOf } from "../../../../src/controllers/gpu-endpoint/memory.ts";
import { createStore } from "../../../../src/runtime/store.ts";
import type { AssumptionsInput } from "../../../../src/simulator/assumptions.ts";
import type { SpendingRefusal } from "../../../../src/submission/account-line.ts";
import type { SubmissionRecord } from "../../../../src/submission/record.ts";
import { CLUSTER_UID, endpointOf } from "../../../support/endpoints.ts";
import { createFakeClock, type FakeClock, hastyClock } from "../../../support/fake-clock.ts";
import { kstatusOf, shown } from "../../../support/kstatus.ts";
import { type Change, merged } from "../../../support/manifests.ts";
import { createObjectStore } from "../../../support/object-store.ts";
import { type ApiRequest, failure, scriptedApi, silentLog } from "../../../support/scripted-api-server.ts";
import { accountAt, sessionAt } from "../../../support/service-account.ts";
import { sharedOf } from "../../../support/shared.ts";
import { KEY } from "../../provider/http/make-client.ts";
import { type Bench, startBench } from "../../simulator/start.ts";

const NAME = "team/echo";
const PATH = "/apis/mooring.dev/v1alpha1/namespaces/team/gpuendpoints/echo";
/** The operation of the account that deletes an endpoint. */
const DELETE = { method: "DELETE", path: "/gpus/v2/endpoints/{id}" } as const;
const signal = new AbortController().signal;
/** Of another member: it does not show the endpoints that KEY created. */
export const OTHER_KEY = "second-key";

/** A GpuEndpoint, the service and the API server, with an operator whose reconciles the test calls. */
export type ReconciledEndpoint = {
  bench: Bench;
  /** Of the operator. Requests to the service take no time on it. */
  clock: FakeClock;
  /** `TYPE REASON: NOTE`. */
  events: string[];
  /** One reconcile. Returns when the next one is due, ms; undefined: not by itself. An error of the reconcile is "Error". */
  reconcile(): Promise<number | "Error" | undefined>;
  /** Reconciles whenever one is due, for `ms`. Time passes at the service too. */
  reconcileFor(ms: number): Promise<void>;
  /** Reads the whole list of endpoints, as the operator does once a minute. */
  list(): Promise<void>;
  status(): GpuEndpointStatus;
  finalizers(): string[];
  /** `TYPE=STATUS/REASON`, sorted. */
  conditions(): string[];
  kstatus(): string;
  /** Changes the spec, which begins a new generation. */
  edit(change: Change): void;
  annotate(annotations: Record<string, string>): void;
  /** Called when the next call of the service begins to wait for its turn. */
  atNextCall(act: () => void): void;
  /** A user deletes the object. */
  remove(): void;
  /** The object is gone when the next status is written, whatever its finalizers are. */
  departBeforeStatus(): void;
  /** Whether the last reconcile told the reference poller that the endpoint waits for what it refers to. */
  waitsForReference(): boolean;
  /** The record of a create whose outcome the status does not show. */
  openCreate(): SubmissionRecord | undefined;
  /** The Secret of the account gets another API key. The service has those of two members: KEY and OTHER_KEY. */
  rotateKey(apiKey: string): void;
  /** Another process takes over: what it remembers begins with the object. `hasSenderEnded`: whether the former one has. Default: yes. */
  restart(hasSenderEnded?: () => boolean): void;
  /**
   * The process stops, and another one takes over. Its list shows the last state of the object that `isShown` accepts, until the
   * returned function is called. Reads and writes of the object are consistent.
   */
  restartBehind(isShown: (endpoint: GpuEndpoint) => boolean): () => void;
  /** How often the operator has written the object. */
  writes(): number;
  /** How often the operator has read the object alone. */
  reads(): number;
  /** From now on, the operator lacks the right `get`. */
  forbidGet(): void;
  /** From now on, another process may hold the lease. */
  loseLease(): void;
  /** Another account is created for the same service, with this API key. */
  addAccount(account: AccountKey, apiKey: string): void;
  /** An account is deleted that no other object uses. */
  removeAccount(account: AccountKey): void;
  /** Requests for which budget is reserved: what they cost is not known yet. */
  reserved(): number;
  /** From now on, the budget of the account holds back what costs something, until the returned function is called. */
  exhaustBudget(): () => void;
  /** A restore of etcd is noticed after so many checks of the next create. The first one is that of its plan. */
  restoreEtcd(options?: { passes: number }): void;
};

export async function reconciledEndpoint(
  spec: Change = {},
  {
    account = "Account/team/default",
    simulator = {},
    vanished = () => 0,
  }: { account?: AccountKey; simulator?: AssumptionsInput; vanished?: () => number } = {},
): Promise<ReconciledEndpoint> {
  const bench = await startBench({ bootDelayMs: 0, deleteOperation: DELETE, ...simulator });
  onTestFinished(() => bench.close());
  const kind = { resource: gpuEndpointResource, store: createStore<GpuEndpoint>(claimIndexers(CLUSTER_UID)) };
  const stored = () => {
    const endpoint = kind.store.get(NAME);
    if (endpoint === undefined) throw new Error(`${NAME} is gone`);
    return endpoint;
  };
  let version = 7;
  let departs = false;
  let forbidsGet = false;
  let change = spec;
  const states: GpuEndpoint[] = [];
  const put = (next: GpuEndpoint) => {
    version += 1;
    kind.store.upsert({ ...next, metadata: { ...next.metadata, resourceVersion: String(version) } });
    states.push(stored());
    return stored();
  };
  kind.store.upsert(endpointOf(change, { generation: 1 }));
  states.push(stored());

  const objects = createObjectStore();
  const api = await scriptedApi((request: ApiRequest) => {
    if (!request.path.startsWith(PATH)) return objects.script(request);
    const present = kind.store.get(NAME);
    if (present === undefined) return failure(404, "NotFound");
    if (request.method === "GET") return forbidsGet ? failure(403, "Forbidden") : { body: present };
    const { metadata, status } = request.body as {
      metadata: Partial<GpuEndpoint["metadata"]>;
      status?: Partial<GpuEndpointStatus>;
    };
    if (departs && status !== undefined) {
      kind.store.remove(present);
      return failure(404, "NotFound");
    }
    if (metadata.resourceVersion !== present.metadata.resourceVersion) return failure(409, "Conflict");
    const before = request.method === "PUT" ? {} : { ...present.status };
    const nextStatus = status === undefined ? present.status : (merged(before, status) as GpuEndpointStatus);
    const next = { ...present, metadata: merged({ ...present.metadata }, metadata) as GpuEndpoint["metadata"] };
    return { body: put(nextStatus === undefined ? next : { ...next, status: nextStatus }) };
  });

  const clock = createFakeClock();
  const events: string[] = [];
  let leads = true;
  let act: (() => void) | undefined;
  const assertServing = () => {
    act?.();
    act = undefined;
    if (!leads) throw new Error("the lease is not surely held");
  };
  let apiKey = KEY;
  const connect = (key: AccountKey, keyOf: () => string) => {
    const opened = sessionAt(bench.url, { apiKey: keyOf, clock: hastyClock, assertServing, deleteOperation: DELETE });
    opened.start();
    accounts.set(key, {
      state: { kind: "Ready" },
      handle: accountAt(bench.url, { ...opened, key, vanished, keyVersion: () => `version-of-${keyOf()}` }),
    });
    return opened;
  };
  const accounts: AccountRegistry = createAccountRegistry(
    (key) => accounts.get(key) !== undefined,
    () => {},
  );
  const connectOwn = () => connect(account, () => apiKey);
  let session = connectOwn();
  const recorder: ControllerDeps["recorder"] = {
    normal: (_object, reason, _action, note) => void events.push(`Normal ${reason}: ${note}`),
    warning: (_object, reason, _action, note) => void events.push(`Warning ${reason}: ${note}`),
    flush: async () => {},
  };
  const metrics = { moved: () => {} };
  let waits = false;
  let heldByRestore: ControllerDeps["heldByRestore"] = () => undefined;
  let budget: SpendingRefusal | undefined;
  let processes = 0;
  let reserved = 0;
  const spend = () => {
    reserved += 1;
    return () => {
      reserved -= 1;
    };
  };
  const start = (listed = kind.store, hasSenderEnded = () => true) => {
    const identity = `process-${processes++}`;
    const shared = sharedOf(api.client, gpuEndpointResource, { accounts, recorder, clusterUID: CLUSTER_UID, identity });
    const references: ControllerDeps["references"] = {
      ...shared.references,
      track(_key, _references, options) {
        waits = options?.waits ?? false;
      },
    };
    return createGpuEndpointReconciler(
      {
        ...shared,
        hasSenderEnded,
        references,
        clock,
        admission: { ...shared.admission, exhausted: () => budget, spend },
        heldByRestore: (object) => heldByRestore(object),
      },
      createKind(api.client, { ...kind, store: listed }),
      metrics,
    );
  };
  let run = start();

  const world: ReconciledEndpoint = {
    bench,
    clock,
    events,
    async reconcile() {
      try {
        const result = await run.reconcile({ key: NAME, namespace: "team", name: "echo" }, { signal, log: silentLog });
        return result?.requeueAfterMs;
      } catch {
        return "Error";
      }
    },
    async reconcileFor(ms) {
      for (let left = ms; left > 0; ) {
        const due = await world.reconcile();
        const pauseMs = Math.min(left, due === "Error" ? 1_000 : Math.max(due ?? left, 1));
        await clock.advance(pauseMs);
        bench.pass(pauseMs);
        left -= pauseMs;
      }
    },
    list: () => session.endpoints.observed.next(signal),
    status: () => stored().status ?? { conditions: [] },
    finalizers: () => stored().metadata.finalizers ?? [],
    conditions: () => shown(world.status().conditions),
    kstatus: () => kstatusOf(stored()),
    edit(more) {
      change = { ...change, ...more };
      const { metadata } = stored();
      put({
        ...stored(),
        metadata: { ...metadata, generation: (metadata.generation ?? 0) + 1 },
        spec: endpointOf(change).spec,
      });
    },
    annotate(annotations) {
      const { metadata } = stored();
      put({ ...stored(), metadata: { ...metadata, annotations: { ...metadata.annotations, ...annotations } } });
    },
    atNextCall(next) {
      act = next;
    },
    remove() {
      put({ ...stored(), metadata: { ...stored().metadata, deletionTimestamp: rfc3339(clock.now()) } });
    },
    departBeforeStatus() {
      departs = true;
    },
    waitsForReference: () => waits,
    rotateKey(next) {
      apiKey = next;
      session.keyChanged();
    },
    reserved: () => reserved,
    openCreate() {
      const present = kind.store.get(NAME);
      return present && unshownCreateOf(present);
    },
    restart(hasSenderEnded) {
      run = start(kind.store, hasSenderEnded);
    },
    restartBehind(isShown) {
      const behind = createStore<GpuEndpoint>(claimIndexers(CLUSTER_UID));
      const earlier = states.findLast(isShown);
      if (earlier === undefined) throw new Error(`${NAME} was never in this state`);
      behind.upsert(structuredClone(earlier));
      session = connectOwn();
      run = start(behind);
      return () => void behind.upsert(structuredClone(stored()));
    },
    writes: () => api.requests.filter(({ method, path }) => method !== "GET" && path.startsWith(PATH)).length,
    reads: () => api.requests.filter(({ method, path }) => method === "GET" && path.startsWith(PATH)).length,
    forbidGet() {
      forbidsGet = true;
    },
    loseLease() {
      leads = false;
    },
    addAccount: (key, itsKey) => void connect(key, () => itsKey),
    removeAccount: (key) => void accounts.remove(key),
    exhaustBudget() {
      budget = { reason: "BudgetExceeded", message: "the budget is used up" };
      return () => {
        budget = undefined;
      };
    },
    restoreEtcd({ passes } = { passes: 1 }) {
      let asked = 0;
      heldByRestore = () => (asked++ < passes ? undefined : "etcd was restored");
    },
  };
  return world;
}
