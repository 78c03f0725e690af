import { videoJobResource } from "../../../../src/api/v1alpha1/kinds.ts";
import type { VideoJob, VideoJobStatus } from "../../../../src/api/v1alpha1/video-job.ts";
import { type Clock, systemClock } from "../../../../src/base/clock.ts";
import {
  type AccountHandle,
  type AccountKey,
  createAccountRegistry,
} from "../../../../src/controllers/account/registry.ts";
import { createStoreRegistry } from "../../../../src/controllers/artifact-store/registry.ts";
import { type ControllerDeps, createKind, type Kind } from "../../../../src/controllers/controller-deps.ts";
import { createJobReconciler } from "../../../../src/controllers/jobs/controller.ts";
import { videoJobAdapter } from "../../../../src/controllers/jobs/requests/video.ts";
import type { WriteRecord } from "../../../../src/controllers/jobs/submit.ts";
import { type Callbacks, type Job, workOf } from "../../../../src/controllers/jobs/types.ts";
import type { KubeClient } from "../../../../src/kube/client.ts";
import { keyOf } from "../../../../src/kube/types.ts";
import { createStore } from "../../../../src/runtime/store.ts";
import { createSpendingAdmission } from "../../../../src/submission/admission.ts";
import { NO_ALLOWANCE } from "../../../../src/submission/allowance.ts";
import { callbacksBy } from "../../../support/callbacks.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { videoJobOf } from "../../../support/jobs.ts";
import { type Change, merged } from "../../../support/manifests.ts";
import { type Answer, failure, scriptedApi, silentLog } from "../../../support/scripted-api-server.ts";
import { accountAt, type ServiceAnswer, scriptedService, sessionAt } from "../../../support/service-account.ts";
import { jobWiring, sharedOf } from "../../../support/shared.ts";

export const UID = videoJobOf("image").metadata.uid;
export const context = { signal: new AbortController().signal, log: silentLog };
export const other = { kind: "ClusterAccount", name: "other", baseURL: "https://other.example.com" } as const;

/** What happens to a status before it is stored: it may be changed, or the result is answered instead. */
export type Meddle = (status: VideoJobStatus) => Answer | undefined;

type JobApiOptions = {
  meddle?: Meddle;
  onStored?: (status: VideoJobStatus) => void;
  /** Other objects, by what their path ends with. */
  objects?: Record<string, object>;
};

/** The API server of one job: a write to another version than the stored one is a conflict. */
export async function jobApi<T extends Job>(initial: T, options: JobApiOptions = {}) {
  const { meddle = () => undefined, onStored, objects = {} } = options;
  let stored = initial;
  let version = 10;
  /** As another client of the API server. */
  function put({ metadata, ...change }: { metadata?: Partial<VideoJob["metadata"]>; status?: VideoJobStatus }): T {
    version++;
    stored = { ...stored, ...change, metadata: { ...stored.metadata, ...metadata, resourceVersion: String(version) } };
    return structuredClone(stored);
  }
  const api = await scriptedApi(({ method, path, body }) => {
    if (path.includes("/events")) return { status: 201, body };
    const other = Object.entries(objects).find(([end]) => path.endsWith(end));
    if (other !== undefined) return { body: other[1] };
    if (method === "GET" && /\/(secrets|services)\//.test(path)) return failure(404, "NotFound");
    if (method === "GET" || method === "DELETE") return { body: stored };
    const { metadata, status: written } = body as { metadata: VideoJob["metadata"]; status: Change };
    if (metadata.resourceVersion !== stored.metadata.resourceVersion) return failure(409, "Conflict");
    const status = merged(method === "PUT" ? {} : { ...stored.status }, written) as VideoJobStatus;
    const instead = meddle(status);
    if (instead !== undefined) return instead;
    onStored?.(status);
    return { body: put({ status }) };
  });
  return { ...api, put, stored: () => stored };
}

/** Writes the record as the controller does, without what else a status shows. */
export function writerOf<T extends Job>(kind: Kind<T>): WriteRecord<T> {
  return (job, { written }, signal) => {
    const status = { conditions: [], ...job.status, ...written };
    return kind.patchStatus(job, status as T["status"], signal);
  };
}

type Options = Partial<ControllerDeps> & {
  /** Of the accounts, which are Ready. */
  handles?: readonly AccountHandle[];
  /** How many tasks each account allows. */
  maxTasks?: number;
  /** Whether a store of this key exists. */
  hasStore?: () => boolean;
  wake?: () => void;
  /** Default: a receiver takes each callback at once. */
  callbacks?: Callbacks;
};

/** The reconciler of one job over a scripted API server. The clock stands still unless another is given. */
export function jobReconciler(
  client: KubeClient,
  job: VideoJob,
  { handles = [], maxTasks, hasStore = () => false, wake = () => {}, callbacks = callbacksBy(), ...deps }: Options = {},
) {
  const fake = createFakeClock();
  const { clock = fake } = deps;
  const kind = { resource: videoJobResource, store: createStore<VideoJob>() };
  kind.store.upsert(job);
  const accounts = createAccountRegistry(
    () => handles.length > 0,
    () => {},
  );
  for (const handle of handles) accounts.set(handle.key, { state: { kind: "Ready" }, handle });
  const allowance = { ...NO_ALLOWANCE, maxTasks };
  const admission = createSpendingAdmission({ clock, allowance: () => allowance, inFlight: () => [] });
  const shared = sharedOf(client, videoJobResource, { clock, accounts, admission, ...deps });
  const wiring = jobWiring(shared, { callbacks, stores: createStoreRegistry(hasStore) });
  const adapter = videoJobAdapter(createKind(client, kind));
  const { reconcile: run, forget } = createJobReconciler(shared, adapter, wiring, wake);
  const key = keyOf(job);
  return {
    kind,
    job,
    clock: fake,
    shared,
    allowance,
    admission,
    running: wiring.running,
    copies: wiring.copies,
    stores: wiring.stores,
    callbacks,
    reconcile: () => run({ key, namespace: "team", name: job.metadata.name }, context),
    /** Another process serves the account of the job. */
    forget: () => forget(key),
    stored: () => kind.store.get(key),
    /** Whether the account has a slot for another job. */
    nextIsAdmitted(account: AccountKey = "Account/team/default") {
      const { kind: answer } = admission.request(account, { ...workOf(job), uid: "next" }, () => {});
      admission.withdraw("next");
      return answer === "Admitted";
    },
  };
}

/** The reconciler of one job, whose accounts are at one service. */
export async function jobWorld({
  spec = {},
  status,
  meddle,
  serves = true,
  hasSenderEnded = () => true,
  heldByRestore = () => undefined,
  answer = () => ({ body: { task_id: "task-1" } }),
  clock = systemClock,
}: {
  serves?: boolean;
  /** Whether the process that sent a request has ended. */
  hasSenderEnded?: () => boolean;
  heldByRestore?: () => string | undefined;
  spec?: Change;
  status?: VideoJobStatus;
  meddle?: Meddle;
  /** Of the service. */
  answer?: () => ServiceAnswer | Promise<ServiceAnswer>;
  /** Of the reconciler. Default: real time, for requests that are repeated. */
  clock?: Clock;
}) {
  const steps: string[] = [];
  const job = videoJobOf("image", spec, status);
  const api = await jobApi(job, {
    ...(meddle && { meddle }),
    onStored: ({ phase, submission }) => void steps.push(`status ${phase} ${submission?.state}`),
  });
  const service = await scriptedService(async ({ method }) => {
    if (method === "POST") steps.push("request");
    return answer();
  });
  const assertServing = () => {
    if (!serves) throw new Error("not serving");
  };
  const account = accountAt(service.url, {}, sessionAt(service.url, { assertServing }));
  let wake = Promise.withResolvers<void>();
  const { kind, running, reconcile, stored } = jobReconciler(api.client, job, {
    clock,
    handles: [account, accountAt(service.url, { key: "ClusterAccount/other" })],
    heldByRestore,
    hasSenderEnded,
    wake: () => wake.resolve(),
  });
  async function woken() {
    await wake.promise;
    wake = Promise.withResolvers<void>();
  }
  return {
    kind,
    api,
    service,
    running,
    steps,
    /** How many tasks are polled. */
    polled: () => account.tasks.inFlight(),
    annotate: (annotations: Record<string, string>) => void kind.store.upsert(api.put({ metadata: { annotations } })),
    reconcile,
    woken,
    /** Reconciles until the request that it starts has ended, and once more for its outcome. */
    async send() {
      await reconcile();
      await woken();
      await reconcile();
    },
    /** The watch shows what is stored. */
    watch: () => void kind.store.upsert(structuredClone(api.stored())),
    job: stored,
  };
}

/** The status when a request to the account `other` is about to be sent. */
export const intended = (sender: string): VideoJobStatus => ({
  conditions: [],
  phase: "Pending",
  account: other,
  submission: { id: "intent-1", specHash: "0", attempt: 1, state: "Intended", sender, time: "2026-03-01T00:00:00Z" },
});
