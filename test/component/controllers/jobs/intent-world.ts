import { videoJobResource } from "../../../../src/api/v1alpha1/kinds.ts";
import type { VideoJob, VideoJobStatus } from "../../../../src/api/v1alpha1/video-job.ts";
import { systemClock } from "../../../../src/base/clock.ts";
import { createAccountRegistry } from "../../../../src/controllers/account/registry.ts";
import { createStoreRegistry } from "../../../../src/controllers/artifact-store/registry.ts";
import { createKind } from "../../../../src/controllers/controller-deps.ts";
import { createJobReconciler } from "../../../../src/controllers/jobs/controller.ts";
import { createCopies } from "../../../../src/controllers/jobs/copies.ts";
import { videoJobAdapter } from "../../../../src/controllers/jobs/requests/video.ts";
import { createRunningRequests } from "../../../../src/controllers/jobs/submit.ts";
import { createStore } from "../../../../src/runtime/store.ts";
import type { JournalEntry } from "../../../../src/submission/journal.ts";
import { createJournal } from "../../../../src/submission/sharded-journal.ts";
import { videoJobOf } from "../../../support/jobs.ts";
import { type Change, merged } from "../../../support/manifests.ts";
import { createObjectStore } from "../../../support/object-store.ts";
import { scriptedApi, silentLog } from "../../../support/scripted-api-server.ts";
import { accountAt, type ServiceAnswer, scriptedService } from "../../../support/service-account.ts";
import { sharedOf } from "../../../support/shared.ts";

export const UID = videoJobOf("image").metadata.uid;
const JOB = "/apis/mooring.dev/v1alpha1/namespaces/team/videojobs/sea";
const JOURNAL = "/api/v1/namespaces/mooring/configmaps/mooring-journal";
const REQUEST = { key: "team/sea", namespace: "team", name: "sea" };
export const context = { signal: new AbortController().signal, log: silentLog };
export const other = { kind: "ClusterAccount", name: "other", baseURL: "https://other.example.com" } as const;

/** One job, with the status and the entries that an operator of an earlier version left in its journal, one ConfigMap. `answer`: of the service. */
export async function jobWorld({
  left = [],
  spec = {},
  status = () => undefined,
  prunes = false,
  leads = true,
  heldByRestore = () => undefined,
  answer = () => ({ body: { task_id: "task-1" } }),
}: {
  /** The CRD does not have the fields of this version. */
  prunes?: boolean;
  leads?: boolean;
  heldByRestore?: () => string | undefined;
  left?: JournalEntry[];
  spec?: Change;
  /** @param shard ID of the job's shard of the journal that the operator opens @param head ID of its first shard */
  status?: (shard: string, head: string) => VideoJobStatus | undefined;
  answer?: () => ServiceAnswer | Promise<ServiceAnswer>;
}) {
  const steps: string[] = [];
  const objects = createObjectStore();
  const data = { epoch: "1", holder: "earlier", intents: JSON.stringify(left) };
  objects.put(JOURNAL, { metadata: { name: "mooring-journal", namespace: "mooring" }, spec: {}, data });
  const kind = { resource: videoJobResource, store: createStore<VideoJob>() };
  let version = 10;
  const api = await scriptedApi((request) => {
    if (request.path.includes("/events")) return { status: 201, body: request.body };
    if (!request.path.startsWith(JOB)) return objects.script(request);
    const { status: patch } = request.body as { status: VideoJobStatus };
    const before = kind.store.get("team/sea");
    const after = { ...before, status: merged({ ...before?.status }, patch) } as VideoJob;
    if (prunes) delete after.status?.submission?.journal;
    steps.push(`status ${after.status?.phase} ${after.status?.submission?.state}`);
    return { body: { ...after, metadata: { ...after.metadata, resourceVersion: String(version++) } } };
  });
  const service = await scriptedService(async ({ method }) => {
    if (method === "POST") steps.push("request");
    return answer();
  });
  const journal = createJournal({
    client: api.client,
    namespace: "mooring",
    name: "mooring-journal",
    identity: "one",
    clock: systemClock,
    random: () => 0.5,
    log: silentLog,
  });
  await journal.open(context.signal);
  kind.store.upsert(videoJobOf("image", spec, status(journal.id(UID), journal.shards()[0].id)));
  const accounts = createAccountRegistry(
    () => true,
    () => {},
  );
  const account = accountAt(service.url);
  accounts.set("Account/team/default", { state: { kind: "Ready" }, handle: account });
  const otherKey = "ClusterAccount/other";
  accounts.set(otherKey, { state: { kind: "Ready" }, handle: accountAt(service.url, { key: otherKey }) });
  const shared = sharedOf(api.client, videoJobResource, {
    journal,
    accounts,
    heldByRestore,
    assertLeading: () => {
      if (!leads) throw new Error("not leading");
    },
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
  return {
    kind,
    journal,
    running,
    steps,
    /** How many tasks are polled. */
    polled: () => account.tasks.inFlight(),
    annotate(annotations: Record<string, string>) {
      const job = kind.store.get("team/sea");
      if (job === undefined) throw new Error("the job is gone");
      const resourceVersion = String(version++);
      kind.store.upsert({ ...job, metadata: { ...job.metadata, annotations, resourceVersion } });
    },
    reconcile: () => run(REQUEST, context),
    job: () => kind.store.get("team/sea"),
    async woken() {
      await wake.promise;
      wake = Promise.withResolvers<void>();
    },
  };
}

export const intended = (journal: string): VideoJobStatus => ({
  conditions: [],
  phase: "Pending",
  account: other,
  submission: { id: "intent-1", specHash: "0", attempt: 1, state: "Intended", journal, time: "2026-03-01T00:00:00Z" },
});
