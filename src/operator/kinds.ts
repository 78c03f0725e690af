import type { Account, ClusterAccount } from "../api/v1alpha1/account.ts";
import type { ArtifactStore } from "../api/v1alpha1/artifact-store.ts";
import type { BillReport } from "../api/v1alpha1/bill-report.ts";
import type { GpuEndpoint } from "../api/v1alpha1/gpu-endpoint.ts";
import {
  accountResource,
  artifactStoreResource,
  billReportResource,
  clusterAccountResource,
  gpuEndpointResource,
  mediaBatchResource,
  speechJobResource,
  videoJobResource,
} from "../api/v1alpha1/kinds.ts";
import type { MediaBatch } from "../api/v1alpha1/media-batch.ts";
import type { SpeechJob } from "../api/v1alpha1/speech-job.ts";
import type { VideoJob } from "../api/v1alpha1/video-job.ts";
import { createAccountReconciler } from "../controllers/account/controller.ts";
import { byAccount, byAccountWithVolumes } from "../controllers/account/dependants.ts";
import type { AccountWiring } from "../controllers/account/session-usage.ts";
import { createArtifactStoreReconciler, type StoreHandleOptions } from "../controllers/artifact-store/controller.ts";
import { type StoreRegistry, storeKey } from "../controllers/artifact-store/registry.ts";
import { createBatchReconciler } from "../controllers/batch/controller.ts";
import type { BatchWiring } from "../controllers/batch/deps.ts";
import type { UsageLedger } from "../controllers/billing/ledger.ts";
import { createBillReportReconciler } from "../controllers/billing/report/controller.ts";
import type { ControllerDeps, Kind } from "../controllers/controller-deps.ts";
import { claimIndexers } from "../controllers/gpu-endpoint/claims.ts";
import { createGpuEndpointReconciler } from "../controllers/gpu-endpoint/controller.ts";
import type { EndpointMetrics } from "../controllers/gpu-endpoint/metrics.ts";
import { batchOf } from "../controllers/jobs/batch-owner.ts";
import { createJobReconciler } from "../controllers/jobs/controller.ts";
import type { JobWiring } from "../controllers/jobs/deps.ts";
import { dropSpeechTexts, speechJobAdapter } from "../controllers/jobs/requests/speech.ts";
import { dropVideoTexts, videoJobAdapter } from "../controllers/jobs/requests/video.ts";
import { type Job, type JobAdapter, paidOperation } from "../controllers/jobs/types.ts";
import type { Resource } from "../kube/resource.ts";
import type { KubeObject, NamespacedObject } from "../kube/types.ts";
import type { Reconcile, SharedReconciler } from "../runtime/controller.ts";
import type { Indexer } from "../runtime/store.ts";
import { attributesOf } from "../tracing/span.ts";
import { endpointTraces, jobTraces, type TraceSource } from "../tracing/trace-source.ts";
import type { Addresses } from "./addresses.ts";
import type { Ownership } from "./ownership.ts";
import type { ServerGate } from "./server-gate.ts";
import { byRequest, bySource, tellBatch, tellTakers, tellWaiting } from "./tell.ts";

/** What reconcilers are made of. assemble.ts creates each part once. */
export type OperatorContext = {
  deps: ControllerDeps;
  account: Omit<AccountWiring, "accountKind" | "lookup">;
  stores: StoreRegistry;
  jobs: JobWiring;
  batches: Omit<BatchWiring, "stores" | "enqueue">;
  endpointMetrics: EndpointMetrics;
  /** How ArtifactStores copy: the slots that all of them share. */
  copies: StoreHandleOptions;
  /** Folder for the volumes of ArtifactStores; undefined: there is none. */
  artifactRoot: string | undefined;
  ledger: UsageLedger;
  /** Whether an ArtifactStore without credentials uses the operator's own identity. */
  allowAmbientCredentials: boolean;
  addresses: Addresses;
  enqueue(resource: Pick<Resource, "plural">, key: string): void;
  gate: ServerGate;
  ownership: Ownership;
};

/** Everything that the operator knows of a kind beside its reconciler's own folder. */
export type KindRow<T extends KubeObject> = {
  resource: Resource;
  /** Permissions of the operator on the kind, in addition to `list`, `watch`, and `patch` and `update` on the status. */
  verbs: readonly ("get" | "create" | "patch" | "delete")[];
  /** The aggregated role that may create and change objects of the kind; undefined: only cluster administrators may. */
  changedBy?: "edit" | "admin";
  /** Indexes by which a change elsewhere leads to objects of this kind. `clusterUID` is a part of generated app names. */
  indexers(clusterUID: string): Record<string, Indexer<T>>;
  /** Drops what nothing needs from an object before the informer stores it. Default: nothing. */
  trim?(object: T): void;
  /**
   * How it depends on an account (index `account`). `Waits`: it is reconciled when the account changes. `Needs`: also, the
   * account is not deleted before it.
   */
  account?: "Waits" | "Needs";
  /** It writes to an ArtifactStore (index `artifacts`): it is reconciled when the store changes. */
  writesToStore?: boolean;
  /** It submits requests. Needs the verb `get`: a list that lags decides nothing that costs something. */
  submits?: boolean;
  /** It is a paid job: counted in `mooring_jobs`, and reconciled when its task changes (index `task`). */
  isJob?: boolean;
  /** The traces of its objects. Default: none. */
  traces?: TraceSource<T>;
  /** Reconciles at once; default `--max-concurrent-reconciles`. */
  workers?: number;
  /**
   * Every process reconciles its objects, because objects of all accounts use them. The first process writes their statuses and events.
   * Default: each object belongs to the process that serves its account.
   */
  inEachProcess?: boolean;
  /** Objects of other kinds wait for it: its controller starts before theirs. Default false. */
  startsFirst?: boolean;
  /**
   * It is reconciled every few seconds, and each time it counts its dependants. So a change of its status alone starts no reconcile: while
   * endpoints are created, each status would lead to the next one. Default false.
   */
  isPolled?: boolean;
  reconciler(context: OperatorContext, kind: Kind<T>): Reconcile | SharedReconciler<T>;
};

/** Stores are few, and each of their reconciles calls a service. */
const FEW_WORKERS = 4;
/** A service that does not answer must not keep other accounts from being taken over. */
const ACCOUNT_WORKERS = 32;

const row = <T extends KubeObject>(one: KindRow<T>): KindRow<T> => one;

const byTask: Indexer<Job> = ({ status }) => (status?.taskID === undefined ? [] : [status.taskID]);

/** The ArtifactStores that an object writes to or reads from. */
const byStore: Indexer<NamespacedObject<StoreUser>> = ({ metadata, spec }) => {
  const inputs = [spec.textFrom, spec.imageToVideo?.imageFrom, spec.videoToVideo?.input.audioFrom];
  const names = [spec.output, ...inputs.map((from) => from?.object)].flatMap((user) => user?.storeRef.name ?? []);
  return [...new Set(names)].map((name) => storeKey(metadata.namespace, name));
};

type StoreInput = { object?: { storeRef: { name: string } } | undefined } | undefined;
type StoreUser = {
  output?: { storeRef: { name: string } } | undefined;
  textFrom?: StoreInput;
  imageToVideo?: { imageFrom?: StoreInput } | undefined;
  videoToVideo?: { input: { audioFrom?: StoreInput } } | undefined;
};

/** The stores that a batch reads its items from and writes its results to. */
const byBatchStores: Indexer<MediaBatch> = ({ metadata, spec }) => {
  const stores = [spec.output, spec.items?.object].flatMap((user) => user?.storeRef.name ?? []);
  return [...new Set(stores)].map((name) => storeKey(metadata.namespace, name));
};

/** The batch that made a job, by its UID. */
const byBatch: Indexer<Job> = ({ metadata }) => {
  const batch = batchOf(metadata);
  return batch === undefined ? [] : [batch.uid];
};

/** All that jobs of different kinds have in common. */
const jobRow = <T extends Job>(
  resource: Resource,
  adapter: (kind: Kind<T>) => JobAdapter<T>,
  dropTexts: (job: T) => void,
): KindRow<T> => ({
  resource,
  // Finished jobs stay in the cluster, often by the thousand. A job that has not finished keeps everything.
  trim(job) {
    if (job.status?.phase === "Succeeded" || job.status?.phase === "Failed") dropTexts(job);
  },
  verbs: ["get", "create", "patch", "delete"],
  changedBy: "edit",
  indexers: () => ({
    account: byAccount,
    task: byTask,
    artifacts: byStore,
    request: byRequest,
    source: bySource,
    batch: byBatch,
  }),
  account: "Needs",
  writesToStore: true,
  submits: true,
  isJob: true,
  traces: jobTraces<T>(resource.kind, (job) =>
    attributesOf({
      "mooring.operation": paidOperation(job),
      "mooring.model": "model" in job.spec ? job.spec.model : undefined,
    }),
  ),
  reconciler: (context, kind) => {
    const { deps, jobs, enqueue } = context;
    const reconciler = createJobReconciler(deps, adapter(kind), jobs, (key) => enqueue(resource, key));
    const reconcile: Reconcile = async (request, reconcileContext) => {
      const before = kind.store.get(request.key);
      const result = await reconciler.reconcile(request, reconcileContext);
      const after = kind.store.get(request.key);
      tellBatch(after, enqueue);
      tellWaiting(kind, { before, after }, enqueue);
      if (after !== undefined && after.status?.phase !== before?.status?.phase) {
        tellTakers(resource.kind, after, jobs.sources, enqueue);
      }
      return result;
    };
    return { ...reconciler, reconcile };
  },
});

/** The table of kinds, in the order in which they are listed: kinds that others refer to come first. */
export const KIND_ROWS = {
  accounts: row<Account>({
    resource: accountResource,
    verbs: ["patch"],
    changedBy: "admin",
    indexers: () => ({}),
    workers: ACCOUNT_WORKERS,
    startsFirst: true,
    isPolled: true,
    reconciler: ({ deps, account, addresses }, kind) =>
      createAccountReconciler(deps, kind, {
        ...account,
        accountKind: "Account",
        lookup: addresses.service("Account"),
      }),
  }),
  clusterAccounts: row<ClusterAccount>({
    resource: clusterAccountResource,
    verbs: ["patch"],
    indexers: () => ({}),
    workers: ACCOUNT_WORKERS,
    startsFirst: true,
    isPolled: true,
    reconciler: ({ deps, account, addresses }, kind) =>
      createAccountReconciler(deps, kind, {
        ...account,
        accountKind: "ClusterAccount",
        lookup: addresses.service("ClusterAccount"),
      }),
  }),
  artifactStores: row<ArtifactStore>({
    resource: artifactStoreResource,
    verbs: [],
    changedBy: "admin",
    indexers: () => ({}),
    workers: FEW_WORKERS,
    startsFirst: true,
    inEachProcess: true,
    reconciler: ({ deps, stores, artifactRoot, addresses, allowAmbientCredentials, copies, enqueue }, kind) =>
      createArtifactStoreReconciler(deps, kind, stores, {
        artifactRoot,
        allowAmbientCredentials,
        lookup: addresses.store,
        handle: copies,
        enqueue: (key) => enqueue(artifactStoreResource, key),
      }),
  }),
  endpoints: row<GpuEndpoint>({
    resource: gpuEndpointResource,
    verbs: ["get", "patch"],
    changedBy: "edit",
    indexers: (clusterUID) => ({ account: byAccount, volumes: byAccountWithVolumes, ...claimIndexers(clusterUID) }),
    account: "Needs",
    submits: true,
    traces: endpointTraces,
    reconciler: ({ deps, endpointMetrics }, kind) => createGpuEndpointReconciler(deps, kind, endpointMetrics),
  }),
  speechJobs: jobRow<SpeechJob>(speechJobResource, speechJobAdapter, dropSpeechTexts),
  videoJobs: jobRow<VideoJob>(videoJobResource, videoJobAdapter, dropVideoTexts),
  mediaBatches: row<MediaBatch>({
    resource: mediaBatchResource,
    verbs: ["get", "delete"],
    changedBy: "edit",
    indexers: () => ({ account: byAccount, artifacts: byBatchStores }),
    account: "Waits",
    writesToStore: true,
    submits: true,
    reconciler: ({ deps, stores, batches, enqueue }, kind) =>
      createBatchReconciler(deps, kind, { ...batches, stores, enqueue }),
  }),
  billReports: row<BillReport>({
    resource: billReportResource,
    verbs: [],
    changedBy: "edit",
    indexers: () => ({ account: byAccount, artifacts: byStore }),
    account: "Waits",
    writesToStore: true,
    reconciler: ({ deps, stores }, kind) => createBillReportReconciler(deps, kind, stores),
  }),
};

export type KindRows = typeof KIND_ROWS;
export type KindName = keyof KindRows;
/** The type of a kind's objects. */
export type ObjectOf<Name extends KindName> = KindRows[Name] extends KindRow<infer T> ? T : never;
