import { describe, expect, it } from "vitest";
import { videoJobResource } from "../../../../src/api/v1alpha1/kinds.ts";
import type { VideoJob, VideoJobStatus } from "../../../../src/api/v1alpha1/video-job.ts";
import { systemClock } from "../../../../src/clock.ts";
import { createAccountRegistry } from "../../../../src/controllers/account/registry.ts";
import { createStoreRegistry } from "../../../../src/controllers/artifact-store/registry.ts";
import { createKind } from "../../../../src/controllers/controller-deps.ts";
import { createJobReconciler } from "../../../../src/controllers/jobs/controller.ts";
import { createCopies } from "../../../../src/controllers/jobs/copies.ts";
import { videoJobAdapter } from "../../../../src/controllers/jobs/requests/video.ts";
import { createRunningRequests } from "../../../../src/controllers/jobs/submit.ts";
import { createStore } from "../../../../src/runtime/store.ts";
import { createJournal, type JournalEntry } from "../../../../src/submission/journal.ts";
import { entryOf, videoJobOf } from "../../../support/jobs.ts";
import { type Change, merged } from "../../../support/manifests.ts";
import { createObjectStore } from "../../../support/object-store.ts";
import { scriptedApi, silentLog } from "../../../support/scripted-api-server.ts";
import { accountAt, type ServiceAnswer, scriptedService } from "../../../support/service-account.ts";
import { sharedOf } from "../../../support/shared.ts";

const JOB = "/apis/mooring.dev/v1alpha1/namespaces/team/videojobs/sea";
const JOURNAL = "/api/v1/namespaces/mooring/configmaps/mooring-journal";
const REQUEST = { key: "team/sea", namespace: "team", name: "sea" };
const context = { signal: new AbortController().signal, log: silentLog };
const other = { kind: "ClusterAccount", name: "other", baseURL: "https://other.example.com" } as const;

/** One job, with the status and the journal entries that an earlier operator left. `answer`: of the service. */
async function world({
  left = [],
  spec = {},
  status = () => undefined,
  prunes = false,
  leads = true,
  answer = () => ({ body: { task_id: "task-1" } }),
}: {
  /** The CRD does not have the fields of this version. */
  prunes?: boolean;
  leads?: boolean;
  left?: JournalEntry[];
  spec?: Change;
  /** @param journal ID of the journal that the operator opens */
  status?: (journal: string) => VideoJobStatus | undefined;
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
  const service = await scriptedService(async () => {
    steps.push("request");
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
  kind.store.upsert(videoJobOf("image", spec, status(journal.id())));
  const accounts = createAccountRegistry(
    () => true,
    () => {},
  );
  accounts.set("Account/team/default", { state: { kind: "Ready" }, handle: accountAt(service.url) });
  const shared = sharedOf(api.client, videoJobResource, {
    journal,
    accounts,
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
    steps,
    reconcile: () => run(REQUEST, context),
    job: () => kind.store.get("team/sea"),
    async woken() {
      await wake.promise;
      wake = Promise.withResolvers<void>();
    },
  };
}

const intended = (journal: string): VideoJobStatus => ({
  conditions: [],
  phase: "Pending",
  account: other,
  submission: { id: "intent-1", specHash: "0", attempt: 1, state: "Intended", journal, time: "2026-03-01T00:00:00Z" },
});

describe("the status of a job", () => {
  it("shows the intent before the request is sent, and the outcome after it", async () => {
    const w = await world({});
    await w.reconcile();
    expect(w.job()?.status?.submission).toMatchObject({ attempt: 1, state: "Intended", journal: w.journal.id() });
    await w.woken();
    await w.reconcile();
    expect(w.steps).toEqual(["status Pending Intended", "request", "status Queued Accepted"]);
    expect(w.job()?.status?.submission).not.toHaveProperty("journal", expect.anything());
  });

  it("has a new intent for a request that an earlier process did not send", async () => {
    const w = await world({ status: intended });
    await w.reconcile();
    const { submission, account } = w.job()?.status ?? {};
    expect(submission).toMatchObject({ attempt: 1, state: "Intended", journal: w.journal.id() });
    expect(submission?.id).not.toBe("intent-1");
    expect(account).toMatchObject({ kind: "Account", name: "default" });
  });

  it("shows that a request without effect was not sent", async () => {
    const w = await world({ answer: () => ({ status: 429, body: { code: 429, reason: "RATE_LIMIT_EXCEEDED" } }) });
    await w.reconcile();
    await w.woken();
    await w.reconcile();
    expect(w.steps.at(-1)).toBe("status Pending NotSent");
  });
});

it("nothing is sent when the API server drops the intent: its CRD is of an earlier version", async () => {
  const w = await world({ prunes: true });
  await expect(w.reconcile()).rejects.toThrow("upgrade the CRDs");
  expect(w.steps).toEqual(["status Pending Intended"]);
  expect(w.journal.entries()).toEqual([]);
});

describe("given an operator that ended while a request was in flight, the next one", () => {
  it.each<{ name: string; entry: Partial<JournalEntry>; phase: string }>([
    { name: "accepted", entry: { outcome: { taskID: "task-1" } }, phase: "Queued" },
    { name: "of unknown outcome", entry: {}, phase: "Halted" },
  ])(
    "shows the account that the request was sent to, not the default account of now: $name",
    async ({ entry, phase }) => {
      const w = await world({ left: [entryOf({ account: other, ...entry })] });
      await w.reconcile();
      expect(w.job()?.status).toMatchObject({ phase, account: other, attempts: 1 });
    },
  );

  it("halts the job when the journal is another one, and sends nothing", async () => {
    const w = await world({ status: () => intended("lost") });
    await w.reconcile();
    expect(w.job()?.status).toMatchObject({ phase: "Halted", account: other, attempts: 1 });
    expect(w.journal.entries()).toEqual([]);
    await w.reconcile();
    expect(w.steps).toEqual(["status Halted Unknown"]);
  });

  it("sends the request when the same journal does not have the intent: it was not sent", async () => {
    const w = await world({ status: intended });
    await w.reconcile();
    await w.woken();
    expect(w.steps).toContain("request");
  });
});

describe("given a deposed leader whose request was not taken", () => {
  const later = { id: "later", specHash: "0", attempt: 1, time: "2026-03-01T00:00:00Z" };

  it.each<{ state: "Intended" | "Accepted" }>([{ state: "Intended" }, { state: "Accepted" }])(
    "the request of the next leader stays in the status: $state",
    async ({ state }) => {
      const w = await world({ answer: () => ({ status: 429, body: { code: 429, reason: "RATE_LIMIT_EXCEEDED" } }) });
      await w.reconcile();
      await w.woken();
      const before = w.job();
      const status = { ...before?.status, taskID: "task-2", phase: "Queued", submission: { ...later, state } };
      w.kind.store.upsert({ ...before, metadata: { ...before?.metadata, resourceVersion: "99" }, status } as VideoJob);
      await w.reconcile();
      expect(w.steps).toEqual(["status Pending Intended", "request"]);
      expect(w.job()?.status).toMatchObject({ taskID: "task-2", submission: { id: "later", state } });
    },
  );
});

it("nothing is intended by a process that does not surely lead", async () => {
  const w = await world({ leads: false });
  await expect(w.reconcile()).rejects.toThrow("not leading");
  expect(w.steps).toEqual([]);
});

it("an earlier request whose acceptance another process records stops the next attempt", async () => {
  const first = { id: "intent-0", specHash: "0", attempt: 1, time: "2026-03-01T00:00:00Z" };
  const unknown: VideoJobStatus = { conditions: [], phase: "Pending", submission: { ...first, state: "Unknown" } };
  const w = await world({ status: () => unknown });
  const before = w.job();
  await w.reconcile();
  // The deposed leader writes what it received, before the second request leaves.
  const status = { ...before?.status, taskID: "task-0", phase: "Queued", submission: { ...first, state: "Accepted" } };
  w.kind.store.upsert({ ...before, metadata: { ...before?.metadata, resourceVersion: "99" }, status } as VideoJob);
  await w.woken();
  await w.reconcile();
  expect(w.steps).toEqual(["status Pending Intended"]);
  expect(w.journal.entries()).toEqual([]);
  expect(w.job()?.status).toMatchObject({ taskID: "task-0", submission: { id: "intent-0", state: "Accepted" } });
});
