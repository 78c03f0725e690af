import type { Logger } from "pino";
import type { Account, ClusterAccount } from "../api/v1alpha1/account.ts";
import {
  accountResource,
  clusterAccountResource,
  gpuEndpointResource,
  KINDS,
  speechJobResource,
  videoJobResource,
} from "../api/v1alpha1/kinds.ts";
import { COPIES_AT_ONCE, DEFAULT_LIMITS } from "../artifacts/handle.ts";
import { createSlots } from "../artifacts/slots.ts";
import type { Clock } from "../clock.ts";
import { createAccountReconciler } from "../controllers/account/controller.ts";
import { createDependants } from "../controllers/account/dependants.ts";
import { createNamespaceLabels } from "../controllers/account/namespaces.ts";
import { type AccountKey, createAccountRegistry } from "../controllers/account/registry.ts";
import { resultLookup } from "../controllers/account/result-lookup.ts";
import { createArtifactStoreReconciler } from "../controllers/artifact-store/controller.ts";
import { createStoreRegistry } from "../controllers/artifact-store/registry.ts";
import { createBillReportReconciler } from "../controllers/bill-report/controller.ts";
import { createGpuEndpointReconciler } from "../controllers/gpu-endpoint/controller.ts";
import { createEndpointMetrics } from "../controllers/gpu-endpoint/metrics.ts";
import { findOrphans, knownEndpoints } from "../controllers/gpu-endpoint/orphans.ts";
import { createJobReconciler } from "../controllers/jobs/controller.ts";
import { createCopies } from "../controllers/jobs/copies.ts";
import { registerJobMetrics } from "../controllers/jobs/metrics.ts";
import { speechJobAdapter } from "../controllers/jobs/requests/speech.ts";
import { videoJobAdapter } from "../controllers/jobs/requests/video.ts";
import type { Answer } from "../controllers/jobs/submit.ts";
import type { Kind, Shared } from "../controllers/shared.ts";
import type { KubeClient } from "../kube/client.ts";
import type { Resource } from "../kube/resource.ts";
import type { KubeObject } from "../kube/types.ts";
import { anyAddress, publicLookup, publicOnly } from "../net/address-guard.ts";
import type { EndpointRecord } from "../provider/endpoints/endpoint-record.ts";
import { type Controller, createController, type Reconcile } from "../runtime/controller.ts";
import type { Informer } from "../runtime/informer.ts";
import type { LeaderElector } from "../runtime/leader.ts";
import { createManager, type Manager } from "../runtime/manager.ts";
import type { Metrics } from "../runtime/metrics.ts";
import { createEventRecorder, type EventRecorder } from "../runtime/recorder.ts";
import { createReferencePoller } from "../runtime/reference-poller.ts";
import { keyOf } from "../runtime/store.ts";
import { createSpendingAdmission } from "../submission/admission.ts";
import { NO_ALLOWANCE } from "../submission/allowance.ts";
import type { Journal } from "../submission/journal.ts";
import { createRunningRequests } from "../submission/running.ts";
import { settleLeft } from "../submission/settle.ts";
import { createInformers } from "./informers.ts";
import { createServiceMetrics } from "./provider-metrics.ts";
import { watchEachOther } from "./watches.ts";

export type AssembleOptions = {
  kube: KubeClient;
  clock: Clock;
  random: () => number;
  log: Logger;
  metrics: Metrics;
  journal: Journal;
  elector: LeaderElector | undefined;
  identity: string;
  clusterUID: string;
  watchNamespaces: readonly string[];
  maxConcurrentReconciles: number;
  allowPrivateNetworks: boolean;
  /** Where the volumes of ArtifactStores are; undefined: there are none. */
  artifactRoot?: string | undefined;
};

/** Reconciles wait for the account's limiter, so a deadline is generous; a paid synchronous call takes up to a minute. */
const DEADLINE_MS = 5 * 60_000;
const ACCOUNT_WORKERS = 4;
/** A changed Secret reaches the remote within a minute. */
const REFERENCE_POLL_MS = 20_000;
/** What somebody else does to an export is put right within a minute. */
const EXPORT_POLL_MS = 60_000;
const STOP_DEADLINE_MS = 25_000;

const storeLookup = publicOnly(
  "an ArtifactStore may use public addresses only: use a public address or a volume, or start the operator with --allow-private-networks",
);

/** The operator: informers, accounts, controllers and what leads from one to the other. Starts nothing. */
export function assembleOperator(options: AssembleOptions): { manager: Manager; recorder: EventRecorder } {
  const { kube, clock, random, log, metrics, journal } = options;

  const informers = createInformers({
    client: kube,
    namespaces: options.watchNamespaces,
    clock,
    random,
    log,
    clusterUID: options.clusterUID,
  });
  const { accounts: accountObjects, clusterAccounts, artifactStores, endpoints } = informers;
  const { speechJobs, videoJobs, billReports } = informers;

  const accountObject = (key: AccountKey): Account | ClusterAccount | undefined => {
    const [kind, ...rest] = key.split("/");
    return kind === "Account" ? accountObjects.store.get(rest.join("/")) : clusterAccounts.store.get(rest.join("/"));
  };
  const controllers = new Map<string, Controller>();
  const enqueue = (resource: Resource, key: string) => controllers.get(resource.plural)?.enqueue(key);

  const checkAccount = (key: AccountKey): void => {
    const object = accountObject(key);
    if (object === undefined) return;
    enqueue(key.startsWith("Account/") ? accountResource : clusterAccountResource, keyOf(object));
  };
  const accounts = createAccountRegistry((key) => accountObject(key) !== undefined, checkAccount);
  const recorder = createEventRecorder({
    client: kube,
    clock,
    log,
    controller: "mooring.dev/operator",
    instance: options.identity,
    resourceOf: (object) =>
      KINDS.find(({ resource }) => resource.kind === object.kind)?.resource ?? gpuEndpointResource,
  });
  const onReferenceChange = (key: string): void => {
    const colon = key.indexOf(":");
    controllers.get(key.slice(0, colon))?.enqueue(key.slice(colon + 1));
  };
  const polled = { client: kube, clock, log, onChange: onReferenceChange };
  const references = createReferencePoller({ ...polled, intervalMs: REFERENCE_POLL_MS });
  const exports = createReferencePoller({ ...polled, intervalMs: EXPORT_POLL_MS });
  const stores = createStoreRegistry((key) => artifactStores.store.get(key) !== undefined);
  const admission = createSpendingAdmission({
    clock,
    allowance: (key) => accounts.get(key)?.handle?.allowance() ?? NO_ALLOWANCE,
    inFlight: (key) => dependants.inFlight(key),
  });
  const shared: Shared = {
    kube,
    clock,
    random,
    log,
    journal,
    recorder,
    accounts,
    admission,
    references,
    exports,
    clusterUID: options.clusterUID,
    assertLeading: () => {
      if (options.elector?.surelyHeld() === false) throw new Error("the lease is not surely held: nothing is sent");
    },
  };

  const dependants = createDependants(
    { endpoints, jobs: [speechJobs, videoJobs], reports: billReports },
    () => accounts,
  );
  const { clusterUID } = options;
  watchEachOther({ informers, accounts, stores, dependants, accountObject, enqueue, checkAccount, clusterUID });

  const endpointMetrics = createEndpointMetrics(metrics.registry, {
    endpoints: () => endpoints.store.list(),
    accounts: () =>
      [...accounts.entries()].flatMap(([key]): [AccountKey, Account | ClusterAccount][] => {
        const object = accountObject(key);
        return object === undefined ? [] : [[key, object]];
      }),
  });
  registerJobMetrics(metrics.registry, {
    SpeechJob: () => speechJobs.store.list(),
    VideoJob: () => videoJobs.store.list(),
  });
  const serviceMetrics = createServiceMetrics(
    metrics.registry,
    () => accounts,
    () => admission,
  );
  const wiring = {
    namespaceLabels: createNamespaceLabels(kube, clock),
    dependants,
    orphansAmong: (records: readonly EndpointRecord[]) =>
      findOrphans(records, knownEndpoints(endpoints.store.list(), options.clusterUID)),
    onEndpoint: (_account: AccountKey, id: string, appName: string) => {
      const found = [...endpoints.store.byIndex("endpointID", id), ...endpoints.store.byIndex("appName", appName)];
      for (const endpoint of found) enqueue(gpuEndpointResource, keyOf(endpoint));
    },
    onTask: (_account: AccountKey, taskID: string) => {
      for (const { store, resource } of [speechJobs, videoJobs]) {
        for (const job of store.byIndex("task", taskID)) enqueue(resource, keyOf(job));
      }
    },
    onCall: serviceMetrics.onCall,
    onMoney: checkAccount,
  };

  function add<T extends KubeObject>(
    kind: Informer<T>,
    reconcile: Reconcile,
    maxConcurrentReconciles = options.maxConcurrentReconciles,
  ): void {
    const controller = createController({
      name: kind.resource.kind.toLowerCase(),
      reconcile,
      maxConcurrentReconciles,
      deadlineMs: DEADLINE_MS,
      clock,
      random,
      log,
      metrics,
    });
    kind.onChange((change) => {
      const initial = change.type === "Added" && change.initial;
      controller.enqueue(keyOf(change.object), { priority: initial ? "low" : "high" });
    });
    controllers.set(kind.resource.plural, controller);
  }
  const kindOf = <T extends KubeObject>({ resource, store }: Informer<T>): Kind<T> => ({ resource, store });
  const judgeResults = options.allowPrivateNetworks ? () => anyAddress : resultLookup;
  add(
    accountObjects,
    createAccountReconciler(shared, kindOf(accountObjects), {
      ...wiring,
      accountKind: "Account",
      lookup: options.allowPrivateNetworks ? undefined : publicLookup,
      resultLookup: judgeResults,
    }),
    ACCOUNT_WORKERS,
  );
  add(
    clusterAccounts,
    createAccountReconciler(shared, kindOf(clusterAccounts), {
      ...wiring,
      accountKind: "ClusterAccount",
      lookup: undefined,
      resultLookup: judgeResults,
    }),
    ACCOUNT_WORKERS,
  );
  add(
    artifactStores,
    createArtifactStoreReconciler(shared, kindOf(artifactStores), stores, {
      artifactRoot: options.artifactRoot,
      lookup: options.allowPrivateNetworks ? undefined : storeLookup,
      handle: { clock, limits: DEFAULT_LIMITS, slots: createSlots(COPIES_AT_ONCE) },
    }),
    ACCOUNT_WORKERS,
  );
  add(endpoints, createGpuEndpointReconciler(shared, kindOf(endpoints), endpointMetrics));
  const jobs = {
    running: createRunningRequests<Answer>({ clock, random, admission }),
    copies: createCopies({ clock, random }),
    stores,
  };
  add(
    speechJobs,
    createJobReconciler(shared, speechJobAdapter(kindOf(speechJobs)), jobs, (key) => enqueue(speechJobResource, key)),
  );
  add(
    videoJobs,
    createJobReconciler(shared, videoJobAdapter(kindOf(videoJobs)), jobs, (key) => enqueue(videoJobResource, key)),
  );
  add(billReports, createBillReportReconciler(shared, kindOf(billReports), stores));

  const manager = createManager({
    elector: options.elector,
    journal,
    informers: Object.values(informers),
    controllers: [...controllers.values()],
    runnables: [
      { name: "references", start: () => references.start(), stop: () => references.stop() },
      { name: "exports", start: () => exports.start(), stop: () => exports.stop() },
      {
        name: "accounts",
        start: () => undefined,
        stop: async () => {
          await Promise.all([...accounts.entries()].map(([, { handle }]) => handle?.close()));
        },
      },
      {
        name: "submissions",
        start: () => undefined,
        drain: (deadline: AbortSignal) => jobs.running.drain(deadline),
        stop: async () => {
          await jobs.copies.stop();
          await Promise.all([...stores.entries()].map(([, { handle }]) => handle?.dispose()));
        },
      },
    ],
    onTakeover: (left) =>
      settleLeft(
        shared,
        left,
        [endpoints, speechJobs, videoJobs].flatMap(({ store }): KubeObject[] => [...store.list()]),
      ),
    log,
    stopDeadlineMs: STOP_DEADLINE_MS,
  });
  return { manager, recorder };
}
