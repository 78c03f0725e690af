import { onTestFinished } from "vitest";
import type { GpuEndpoint, GpuEndpointStatus } from "../../../../src/api/v1alpha1/gpu-endpoint.ts";
import { gpuEndpointResource } from "../../../../src/api/v1alpha1/kinds.ts";
import { createAccountRegistry } from "../../../../src/controllers/account/registry.ts";
import { type ControllerDeps, createKind } from "../../../../src/controllers/controller-deps.ts";
import { claimIndexers } from "../../../../src/controllers/gpu-endpoint/claims.ts";
import { createGpuEndpointReconciler } from "../../../../src/controllers/gpu-endpoint/controller.ts";
import { createStore } from "../../../../src/runtime/store.ts";
import type { AssumptionsInput } from "../../../../src/simulator/assumptions.ts";
import type { Journal, JournalEntry } from "../../../../src/submission/journal.ts";
import { CLUSTER_UID, endpointOf } from "../../../support/endpoints.ts";
import { createFakeClock, type FakeClock, hastyClock } from "../../../support/fake-clock.ts";
import { kstatusOf, shown } from "../../../support/kstatus.ts";
import type { Change } from "../../../support/manifests.ts";
import { createObjectStore } from "../../../support/object-store.ts";
import { type ApiRequest, failure, scriptedApi, silentLog } from "../../../support/scripted-api-server.ts";
import { accountAt, sessionAt } from "../../../support/service-account.ts";
import { sharedOf } from "../../../support/shared.ts";
import { KEY } from "../../provider/http/make-client.ts";
import { type Bench, startBench } from "../../simulator/start.ts";

const NAME = "team/echo";
const PATH = "/apis/mooring.dev/v1alpha1/namespaces/team/gpuendpoints/echo";
const signal = new AbortController().signal;

/** A GpuEndpoint, the service and the API server, with an operator whose reconciles the test calls. */
export type ReconciledEndpoint = {
  bench: Bench;
  /** Of the operator. Requests to the service take no time on it. */
  clock: FakeClock;
  /** `TYPE REASON: NOTE`. */
  events: string[];
  /** One reconcile, and the next one when the first only wrote the intent to create. Returns when the next one is due, ms; undefined: not by itself. An error of the reconcile is "Error". */
  reconcile(): Promise<number | "Error" | undefined>;
  /** Reconciles whenever one is due, for `ms`. Time passes at the service too. */
  reconcileFor(ms: number): Promise<void>;
  /** Reads the whole list of endpoints, as the operator does once a minute. */
  list(): Promise<void>;
  status(): GpuEndpointStatus;
  /** `TYPE=STATUS/REASON`, sorted. */
  conditions(): string[];
  kstatus(): string;
  /** Changes the spec, which begins a new generation. */
  edit(change: Change): void;
  annotate(annotations: Record<string, string>): void;
  /** The object is gone when the next status is written, whatever its finalizers are. */
  departBeforeStatus(): void;
  /** Whether the last reconcile told the reference poller that the endpoint waits for what it refers to. */
  waitsForReference(): boolean;
  /** Requests whose outcome no status shows yet. */
  unsettled(): JournalEntry[];
  /** Another process takes over: what it remembers begins with the status and the journal. */
  restart(): Promise<void>;
  /** Another process takes over after the journal was deleted. */
  restartWithoutJournal(): Promise<void>;
};

export async function reconciledEndpoint(
  spec: Change = {},
  { simulator = {}, vanished = () => 0 }: { simulator?: AssumptionsInput; vanished?: () => number } = {},
): Promise<ReconciledEndpoint> {
  const bench = await startBench({ bootDelayMs: 0, ...simulator });
  onTestFinished(() => bench.close());
  const kind = { resource: gpuEndpointResource, store: createStore<GpuEndpoint>(claimIndexers(CLUSTER_UID)) };
  const stored = () => {
    const endpoint = kind.store.get(NAME);
    if (endpoint === undefined) throw new Error(`${NAME} is gone`);
    return endpoint;
  };
  let version = 7;
  let departs = false;
  let change = spec;
  const put = (next: GpuEndpoint) => {
    version += 1;
    kind.store.upsert({ ...next, metadata: { ...next.metadata, resourceVersion: String(version) } });
    return stored();
  };
  kind.store.upsert(endpointOf(change, { generation: 1 }));

  const objects = createObjectStore();
  const api = await scriptedApi((request: ApiRequest) => {
    if (!request.path.startsWith(PATH)) return objects.script(request);
    const { metadata, status } = request.body as {
      metadata: Partial<GpuEndpoint["metadata"]>;
      status?: object;
    };
    const present = kind.store.get(NAME);
    if (present === undefined) return failure(404, "NotFound");
    if (departs && status !== undefined) {
      kind.store.remove(present);
      return failure(404, "NotFound");
    }
    if (metadata.resourceVersion !== present.metadata.resourceVersion) return failure(409, "Conflict");
    const merged = status === undefined ? present.status : (merge(present.status ?? {}, status) as GpuEndpointStatus);
    const next = { ...present, metadata: { ...present.metadata, ...metadata } };
    return { body: put(merged === undefined ? next : { ...next, status: merged }) };
  });

  const clock = createFakeClock();
  const events: string[] = [];
  const session = sessionAt(bench.url, { apiKey: KEY, clock: hastyClock });
  session.start();
  const accounts = createAccountRegistry(
    () => true,
    () => {},
  );
  accounts.set("Account/team/default", {
    state: { kind: "Ready" },
    handle: accountAt(bench.url, { ...session, vanished }),
  });
  const recorder: ControllerDeps["recorder"] = {
    normal: (_object, reason, _action, note) => void events.push(`Normal ${reason}: ${note}`),
    warning: (_object, reason, _action, note) => void events.push(`Warning ${reason}: ${note}`),
    flush: async () => {},
  };
  const metrics = { moved: () => {} };
  let waits = false;
  let journal: Journal | undefined;
  const start = async () => {
    const shared = sharedOf(api.client, gpuEndpointResource, { accounts, recorder, clusterUID: CLUSTER_UID });
    await shared.journal.open(signal);
    journal = shared.journal;
    const references: ControllerDeps["references"] = {
      ...shared.references,
      track(_key, _references, options) {
        waits = options?.waits ?? false;
      },
    };
    return createGpuEndpointReconciler({ ...shared, references, clock }, createKind(api.client, kind), metrics);
  };
  let run = await start();

  const world: ReconciledEndpoint = {
    bench,
    clock,
    events,
    async reconcile() {
      try {
        for (;;) {
          const result = await run({ key: NAME, namespace: "team", name: "echo" }, { signal, log: silentLog });
          const intended = kind.store.get(NAME)?.status?.submission?.state === "Intended";
          if (!intended || result?.requeueAfterMs !== 0) return result?.requeueAfterMs;
        }
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
    departBeforeStatus() {
      departs = true;
    },
    waitsForReference: () => waits,
    unsettled: () => journal?.entries() ?? [],
    async restart() {
      run = await start();
    },
    async restartWithoutJournal() {
      const path = [...objects.objects.keys()].find((one) => one.endsWith("/mooring-journal"));
      if (path === undefined) throw new Error("there is no journal");
      objects.objects.delete(path);
      run = await start();
    },
  };
  return world;
}

type Json = Record<string, unknown>;
const isRecord = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** RFC 7396. */
function merge(target: object, patch: object): Json {
  const merged: Json = { ...target };
  for (const [key, value] of Object.entries(patch)) {
    const present = merged[key];
    if (value === null) delete merged[key];
    else merged[key] = isRecord(value) ? merge(isRecord(present) ? present : {}, value) : value;
  }
  return merged;
}
