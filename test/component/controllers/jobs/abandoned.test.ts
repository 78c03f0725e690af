import { expect, it } from "vitest";
import { videoJobResource } from "../../../../src/api/v1alpha1/kinds.ts";
import type { VideoJob, VideoJobStatus } from "../../../../src/api/v1alpha1/video-job.ts";
import { createAccountRegistry } from "../../../../src/controllers/account/registry.ts";
import { createStoreRegistry } from "../../../../src/controllers/artifact-store/registry.ts";
import { createKind } from "../../../../src/controllers/controller-deps.ts";
import { createJobReconciler } from "../../../../src/controllers/jobs/controller.ts";
import { createCopies } from "../../../../src/controllers/jobs/copies.ts";
import { videoJobAdapter } from "../../../../src/controllers/jobs/requests/video.ts";
import { createRunningRequests } from "../../../../src/controllers/jobs/running.ts";
import { workOf } from "../../../../src/controllers/jobs/types.ts";
import { createStore } from "../../../../src/runtime/store.ts";
import { createSpendingAdmission } from "../../../../src/submission/admission.ts";
import { NO_ALLOWANCE } from "../../../../src/submission/allowance.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { fakeTasks } from "../../../support/fake-tasks.ts";
import { taskOf, videoJobOf } from "../../../support/jobs.ts";
import type { Change } from "../../../support/manifests.ts";
import { scriptedApi, silentLog } from "../../../support/scripted-api-server.ts";
import { accountAt } from "../../../support/service-account.ts";
import { sharedOf } from "../../../support/shared.ts";

const ACCOUNT = "Account/team/default";
const baseURL = "http://127.0.0.1:1";
const submitted: VideoJobStatus = {
  phase: "Queued",
  conditions: [],
  taskID: "task-1",
  account: { kind: "Account", name: "default", baseURL },
  submission: { id: "i", specHash: "0", attempt: 1, state: "Accepted", time: "2026-02-28T22:00:00Z" },
  submitTime: "2026-02-28T22:00:00Z",
  firstSubmitTime: "2026-02-28T22:00:00Z",
};

/** A job whose task is queued at the service, in an account that allows one task. */
async function setUp(spec: Change = {}) {
  const kind = { resource: videoJobResource, store: createStore<VideoJob>() };
  const job = videoJobOf("image", spec, submitted);
  kind.store.upsert(job);
  const api = await scriptedApi(({ path, body }) => {
    if (path.includes("/events")) return { status: 201, body: {} };
    const patch = (body as { status: VideoJobStatus }).status;
    const metadata = { ...job.metadata, resourceVersion: "8" };
    return { body: { ...job, metadata, status: { ...job.status, ...patch } } };
  });
  const clock = createFakeClock();
  let shown = taskOf("TASK_STATUS_QUEUED");
  const { tasks, polled } = fakeTasks({ latest: () => ({ result: shown, at: clock.now() }) });
  const allowance = { ...NO_ALLOWANCE, maxTasks: 1 };
  const accounts = createAccountRegistry(
    () => true,
    () => {},
  );
  const handle = accountAt(baseURL, { key: ACCOUNT, tasks, allowance: () => allowance });
  accounts.set(ACCOUNT, { state: { kind: "Ready" }, handle });
  const admission = createSpendingAdmission({ clock, allowance: () => allowance, inFlight: () => [] });
  const shared = sharedOf(api.client, videoJobResource, { clock, accounts, admission });
  const wiring = {
    running: createRunningRequests({ clock, random: () => 0.5, admission }),
    copies: createCopies({ clock, random: () => 0.5 }),
    stores: createStoreRegistry(() => false),
  };
  const run = createJobReconciler(shared, videoJobAdapter(createKind(api.client, kind)), wiring, () => {});
  const request = { key: "team/sea", namespace: "team", name: "sea" };
  return {
    polled,
    remove: () => kind.store.remove(job),
    reconcile: () => run(request, { signal: new AbortController().signal, log: silentLog }),
    status: () => kind.store.get("team/sea")?.status,
    /** The task ends, and the account is reconciled. */
    end: () => {
      shown = taskOf("TASK_STATUS_SUCCEED");
      shared.abandoned.check(ACCOUNT);
    },
    next: () => admission.request(ACCOUNT, { ...workOf(job), uid: "next" }, () => {}).kind,
  };
}

it("a deleted job's task keeps its place, and is polled, until it ends", async () => {
  const w = await setUp();
  await w.reconcile();
  w.remove();
  await w.reconcile();
  expect([w.next(), [...w.polled]]).toEqual(["Waiting", ["task-1"]]);
  w.end();
  expect([w.next(), [...w.polled]]).toEqual(["Admitted", []]);
});

it("the task of a job that fails by its deadline keeps its place until it ends", async () => {
  const w = await setUp({ activeDeadlineSeconds: 60 });
  await w.reconcile();
  expect(w.status()?.phase).toBe("Failed");
  await w.reconcile();
  expect([w.next(), [...w.polled]]).toEqual(["Waiting", ["task-1"]]);
  w.end();
  expect(w.next()).toBe("Admitted");
});
