import { videoJobResource } from "../../../../src/api/v1alpha1/kinds.ts";
import type { VideoJob, VideoJobStatus } from "../../../../src/api/v1alpha1/video-job.ts";
import { systemClock } from "../../../../src/base/clock.ts";
import { createAccountRegistry } from "../../../../src/controllers/account/registry.ts";
import { createStoreRegistry } from "../../../../src/controllers/artifact-store/registry.ts";
import { createKind, type Kind } from "../../../../src/controllers/controller-deps.ts";
import { createJobReconciler } from "../../../../src/controllers/jobs/controller.ts";
import { createCopies } from "../../../../src/controllers/jobs/copies.ts";
import { videoJobAdapter } from "../../../../src/controllers/jobs/requests/video.ts";
import { createRunningRequests } from "../../../../src/controllers/jobs/running.ts";
import type { WriteRecord } from "../../../../src/controllers/jobs/submit.ts";
import type { Job } from "../../../../src/controllers/jobs/types.ts";
import { createStore } from "../../../../src/runtime/store.ts";
import { videoJobOf } from "../../../support/jobs.ts";
import { type Change, merged } from "../../../support/manifests.ts";
import { type Answer, failure, scriptedApi, silentLog } from "../../../support/scripted-api-server.ts";
import { accountAt, type ServiceAnswer, scriptedService, sessionAt } from "../../../support/service-account.ts";
import { sharedOf } from "../../../support/shared.ts";

export const UID = videoJobOf("image").metadata.uid;
const REQUEST = { key: "team/sea", namespace: "team", name: "sea" };
export const context = { signal: new AbortController().signal, log: silentLog };
export const other = { kind: "ClusterAccount", name: "other", baseURL: "https://other.example.com" } as const;

/** What happens to a status before it is stored: it may be changed, or the result is answered instead. */
export type Meddle = (status: VideoJobStatus) => Answer | undefined;

type JobApiOptions = { meddle?: Meddle; onStored?: (status: VideoJobStatus) => void };

/** The API server of one job: a write to another version than the stored one is a conflict. */
export async function jobApi<T extends Job>(initial: T, { meddle = () => undefined, onStored }: JobApiOptions = {}) {
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
    if (method === "GET") return { body: stored };
    const { metadata, status: patch } = body as { metadata: VideoJob["metadata"]; status: Change };
    if (metadata.resourceVersion !== stored.metadata.resourceVersion) return failure(409, "Conflict");
    const status = merged({ ...stored.status }, patch) as VideoJobStatus;
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

/** The reconciler of one job, whose accounts are at one service. */
export async function jobWorld({
  spec = {},
  status,
  meddle,
  leads = true,
  heldByRestore = () => undefined,
  answer = () => ({ body: { task_id: "task-1" } }),
}: {
  leads?: boolean;
  heldByRestore?: () => string | undefined;
  spec?: Change;
  status?: VideoJobStatus;
  meddle?: Meddle;
  /** Of the service. */
  answer?: () => ServiceAnswer | Promise<ServiceAnswer>;
}) {
  const steps: string[] = [];
  const kind = { resource: videoJobResource, store: createStore<VideoJob>() };
  const job = videoJobOf("image", spec, status);
  kind.store.upsert(job);
  const api = await jobApi(job, {
    ...(meddle && { meddle }),
    onStored: ({ phase, submission }) => void steps.push(`status ${phase} ${submission?.state}`),
  });
  const service = await scriptedService(async ({ method }) => {
    if (method === "POST") steps.push("request");
    return answer();
  });
  const accounts = createAccountRegistry(
    () => true,
    () => {},
  );
  const assertLeading = () => {
    if (!leads) throw new Error("not leading");
  };
  const account = accountAt(service.url, {}, sessionAt(service.url, { assertServing: assertLeading }));
  accounts.set("Account/team/default", { state: { kind: "Ready" }, handle: account });
  const otherKey = "ClusterAccount/other";
  accounts.set(otherKey, { state: { kind: "Ready" }, handle: accountAt(service.url, { key: otherKey }) });
  const shared = sharedOf(api.client, videoJobResource, {
    accounts,
    heldByRestore,
    assertLeading,
  });
  const running = createRunningRequests({ clock: systemClock, random: () => 0.5, admission: shared.admission });
  let wake = Promise.withResolvers<void>();
  const run = createJobReconciler(
    shared,
    videoJobAdapter(createKind(api.client, kind)),
    {
      running,
      copies: createCopies({ clock: systemClock, random: () => 0.5 }),
      stores: createStoreRegistry(() => false),
    },
    () => wake.resolve(),
  );
  const reconcile = () => run(REQUEST, context);
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
    job: () => kind.store.get("team/sea"),
  };
}

/** The status when a request to the account `other` is about to be sent. */
export const intended = (sender: string): VideoJobStatus => ({
  conditions: [],
  phase: "Pending",
  account: other,
  submission: { id: "intent-1", specHash: "0", attempt: 1, state: "Intended", sender, time: "2026-03-01T00:00:00Z" },
});
