import { describe, expect, it } from "vitest";
import { getCondition } from "../../../../src/api/v1alpha1/conditions.ts";
import { videoJobResource } from "../../../../src/api/v1alpha1/kinds.ts";
import type { VideoJob, VideoJobStatus } from "../../../../src/api/v1alpha1/video-job.ts";
import { createAccountRegistry } from "../../../../src/controllers/account/registry.ts";
import { createStoreRegistry } from "../../../../src/controllers/artifact-store/registry.ts";
import { createJobReconciler } from "../../../../src/controllers/jobs/controller.ts";
import { createCopies } from "../../../../src/controllers/jobs/copies.ts";
import { videoJobAdapter } from "../../../../src/controllers/jobs/requests/video.ts";
import type { TaskObservation, Tasks } from "../../../../src/provider/types.ts";
import { createStore } from "../../../../src/runtime/store.ts";
import { createRunningRequests } from "../../../../src/submission/running.ts";
import { createFakeClock, START } from "../../../support/fake-clock.ts";
import { taskOf, video, videoJobOf } from "../../../support/jobs.ts";
import type { Change } from "../../../support/manifests.ts";
import { scriptedApi, silentLog } from "../../../support/scripted-api-server.ts";
import { accountAt } from "../../../support/service-account.ts";
import { sharedOf } from "../../../support/shared.ts";

const baseURL = "http://127.0.0.1:1";
const submitted: VideoJobStatus = {
  phase: "Running",
  conditions: [],
  taskID: "task-1",
  account: { kind: "ClusterAccount", name: "default", baseURL },
  submission: { id: "i", specHash: "0", attempt: 1, state: "Accepted", time: "2026-02-28T22:00:00Z" },
  submitTime: "2026-02-28T22:00:00Z",
  firstSubmitTime: "2026-02-28T22:00:00Z",
};

/** The tasks of an account. `show` sets what its last poll showed. */
function tasksOf() {
  let latest: TaskObservation | undefined;
  const calls: string[] = [];
  const tasks: Tasks = {
    follow: (taskID) => void calls.push(`follow ${taskID}`),
    forget: (taskID) => void calls.push(`forget ${taskID}`),
    pollNow: (taskID) => void calls.push(`poll ${taskID}`),
    latest: () => latest,
    read: () => Promise.reject(new Error("not read")),
    inFlight: () => 1,
    stop: async () => {},
  };
  const show = (next: TaskObservation) => {
    latest = next;
  };
  return { tasks, calls, show };
}

/** A submitted job whose namespace has an Account `default`, while it is bound to the ClusterAccount `default`. */
async function setUp(spec: Change, status: VideoJobStatus = submitted) {
  const kind = { resource: videoJobResource, store: createStore<VideoJob>() };
  let version = 7;
  const api = await scriptedApi(({ path, body }) => {
    if (path.includes("/events")) return { status: 201, body: {} };
    const job = kind.store.get("team/sea");
    if (job === undefined) throw new Error("no job");
    const patch = (body as { status: VideoJobStatus }).status;
    version++;
    const metadata = { ...job.metadata, resourceVersion: String(version) };
    return { body: { ...job, metadata, status: { ...job.status, ...patch } } };
  });
  const clock = createFakeClock();
  const [bound, other] = [tasksOf(), tasksOf()];
  const accounts = createAccountRegistry(
    () => true,
    () => {},
  );
  const add = (key: string, tasks: Tasks) =>
    accounts.set(key, { state: { kind: "Ready" }, handle: accountAt(baseURL, { key, tasks }) });
  add("ClusterAccount/default", bound.tasks);
  add("Account/team/default", other.tasks);
  kind.store.upsert(videoJobOf("image", spec, status));
  const shared = sharedOf(api.client, videoJobResource, { clock, accounts });
  const wiring = {
    running: createRunningRequests<never>({ clock, random: () => 0.5, admission: shared.admission }),
    copies: createCopies({ clock, random: () => 0.5 }),
    stores: createStoreRegistry(() => false),
  };
  const run = createJobReconciler(shared, videoJobAdapter(kind), wiring, () => {});
  const request = { key: "team/sea", namespace: "team", name: "sea" };
  return {
    bound,
    other,
    reconcile: () => run(request, { signal: new AbortController().signal, log: silentLog }),
    status: () => kind.store.get("team/sea")?.status,
  };
}

const succeeded = (at: number) => ({ result: taskOf("TASK_STATUS_SUCCEED", { videos: [video] }), at });
const processing = (at: number) => ({ result: taskOf("TASK_STATUS_PROCESSING"), at });

describe("given a job that is bound to an account, when spec.accountRef means another account by now", () => {
  it("the bound account polls its task", async () => {
    const w = await setUp({});
    w.bound.show(succeeded(START));
    await w.reconcile();
    expect(w.bound.calls).toContain("follow task-1");
    expect(w.other.calls).toEqual([]);
    expect(w.status()?.phase).toBe("Succeeded");
  });
});

describe("given a deadline that passed while the operator was down", () => {
  it("the job succeeds when the first poll shows a result", async () => {
    const w = await setUp({ activeDeadlineSeconds: 60 });
    for (const tasks of [w.bound, w.other]) tasks.show(processing(START - 7_190_000));
    expect(await w.reconcile()).toEqual({ requeueAfterMs: 2_000 });
    expect(w.status()?.phase).toBe("Running");
    await w.reconcile();
    expect(w.bound.calls).toEqual(["follow task-1", "poll task-1"]);
    w.bound.show(succeeded(START));
    await w.reconcile();
    expect(w.status()?.phase).toBe("Succeeded");
  });

  it("the job fails when the first poll shows that the task is not finished", async () => {
    const w = await setUp({ activeDeadlineSeconds: 60 });
    await w.reconcile();
    expect(w.status()?.phase).not.toBe("Failed");
    w.bound.show(processing(START));
    await w.reconcile();
    expect(getCondition(w.status()?.conditions ?? [], "Failed")?.reason).toBe("DeadlineExceeded");
  });

  it("a job whose results are copied is not reconciled without a pause", async () => {
    const results = [{ kind: "Video" as const, url: video.url, type: "mp4", expiresAt: "2026-03-02T00:00:00Z" }];
    const storing: VideoJobStatus = {
      ...submitted,
      phase: "Storing",
      results,
      resultsExpireAt: "2026-03-02T00:00:00Z",
    };
    const w = await setUp({ activeDeadlineSeconds: 60, output: { storeRef: { name: "missing" } } }, storing);
    expect(await w.reconcile()).toEqual({ requeueAfterMs: 300_000 });
  });
});
