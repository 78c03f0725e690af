import { describe, expect, it } from "vitest";
import { getCondition } from "../../../../src/api/v1alpha1/conditions.ts";
import { speechJobResource, videoJobResource } from "../../../../src/api/v1alpha1/kinds.ts";
import type { SpeechJob } from "../../../../src/api/v1alpha1/speech-job.ts";
import type { VideoJob, VideoJobStatus } from "../../../../src/api/v1alpha1/video-job.ts";
import { createTaskOwners } from "../../../../src/controllers/account/abandoned-tasks.ts";
import { createAccountRegistry } from "../../../../src/controllers/account/registry.ts";
import { createKind } from "../../../../src/controllers/controller-deps.ts";
import { createJobReconciler } from "../../../../src/controllers/jobs/controller.ts";
import { speechJobAdapter } from "../../../../src/controllers/jobs/requests/speech.ts";
import { videoJobAdapter } from "../../../../src/controllers/jobs/requests/video.ts";
import type { Job } from "../../../../src/controllers/jobs/types.ts";
import { ServiceError, type ServiceErrorKind } from "../../../../src/provider/errors.ts";
import type { TaskResult } from "../../../../src/provider/tasks/task-result.ts";
import type { TaskObservation } from "../../../../src/provider/types.ts";
import { createStore } from "../../../../src/runtime/store.ts";
import { createFakeClock, until } from "../../../support/fake-clock.ts";
import { fakeTasks } from "../../../support/fake-tasks.ts";
import { speechJobOf, taskOf, video, videoJobOf } from "../../../support/jobs.ts";
import type { Change } from "../../../support/manifests.ts";
import { scriptedApi, silentLog } from "../../../support/scripted-api-server.ts";
import { accountAt } from "../../../support/service-account.ts";
import { jobWiring, sharedOf } from "../../../support/shared.ts";

const baseURL = "http://127.0.0.1:1";
const haltMessage = "The request was sent; its outcome is unknown";
const halted: VideoJobStatus = {
  phase: "Halted",
  attempts: 1,
  account: { kind: "ClusterAccount", name: "default", baseURL },
  submission: { id: "i", specHash: "0", attempt: 1, state: "Unknown", time: "2026-02-28T22:00:00Z" },
  conditions: (["Ready", "Stalled"] as const).map((type) => ({
    type,
    status: type === "Ready" ? "False" : "True",
    reason: "SubmissionUnknown",
    message: haltMessage,
    lastTransitionTime: "2026-02-28T22:00:00Z",
  })),
};
const annotation = "mooring.dev/attach-task";
const token = "mooring.dev/resubmit-token";

type World = {
  job?: Job;
  spec?: Change;
  status?: Partial<VideoJobStatus>;
  annotations?: Record<string, string>;
  /** Jobs whose status shows the task. */
  others?: { kind: string; metadata: Job["metadata"] }[];
  ready?: boolean;
};

/** A halted job. The service shows `task` to whoever reads it. */
async function setUp({ job, spec = {}, status = {}, annotations = {}, others = [], ready = true }: World) {
  const resource = job?.kind === "SpeechJob" ? speechJobResource : videoJobResource;
  const store = createStore<Job>();
  const stored = job ?? videoJobOf("image", spec, { ...halted, ...status });
  store.upsert({ ...stored, metadata: { ...stored.metadata, annotations } } as Job);
  let version = 7;
  const api = await scriptedApi(({ path, body }) => {
    if (path.includes("/events")) return { status: 201, body: {} };
    const current = store.get("team/sea");
    if (current === undefined) throw new Error("no job");
    version++;
    const metadata = { ...current.metadata, resourceVersion: String(version) };
    return { body: { ...current, metadata, status: (body as { status: VideoJobStatus }).status } };
  });
  const clock = createFakeClock();
  const calls: string[] = [];
  let shown: TaskResult | ServiceError = taskOf("TASK_STATUS_PROCESSING", { taskType: "VIDEO_IMG_TO_VIDEO" });
  let latest: TaskObservation | undefined;
  const { tasks } = fakeTasks({
    follow: (taskID) => void calls.push(`follow ${taskID}`),
    latest: () => latest,
    async read(taskID) {
      calls.push(`read ${taskID}`);
      if (shown instanceof ServiceError) throw shown;
      return { result: shown, at: clock.now() };
    },
  });
  const accounts = createAccountRegistry(
    () => true,
    () => {},
  );
  accounts.set("ClusterAccount/default", {
    state: ready ? { kind: "Ready" } : { kind: "Held", reason: "Unauthorized", message: "401" },
    handle: accountAt(baseURL, { key: "ClusterAccount/default", tasks }),
  });
  const shared = sharedOf(api.client, resource, { clock, accounts });
  const taskOwners = createTaskOwners({ jobsWith: () => others, abandoned: { follows: (id) => id === "abandoned" } });
  const deps = { ...shared, taskOwners };
  const [wiring, kind] = [jobWiring(shared), { resource, store: store as never }];
  const { reconcile } =
    resource === speechJobResource
      ? createJobReconciler(deps, speechJobAdapter(createKind(api.client, kind)), wiring, () => {})
      : createJobReconciler(deps, videoJobAdapter(createKind(api.client, kind)), wiring, () => {});
  const request = { key: "team/sea", namespace: "team", name: "sea" };
  const current = () => store.get("team/sea") as VideoJob;
  return {
    calls,
    taskOwners,
    show: (next: TaskResult | ServiceError) => {
      shown = next;
    },
    poll: (result: TaskResult) => {
      latest = { result, at: clock.now() };
    },
    annotate: (next: Record<string, string>) => {
      version++;
      const metadata = { ...current().metadata, resourceVersion: String(version), annotations: next };
      store.upsert({ ...current(), metadata });
    },
    reconcile: () => reconcile(request, { signal: new AbortController().signal, log: silentLog }),
    status: () => current().status,
    attached: () => getCondition(current().status?.conditions, "TaskAttached"),
    writes: () => api.requests.filter(({ method }) => method === "PUT"),
    events: () =>
      api.requests.flatMap(({ path, body }) => {
        const { type, reason } = body as { type: string; reason: string };
        return path.includes("/events") ? [`${type} ${reason}`] : [];
      }),
  };
}

const failure = (kind: ServiceErrorKind) =>
  new ServiceError({ operation: "getTaskResult", kind, delivery: "Refused", message: "the service refused" });

describe("given a halted job with the annotation attach-task", () => {
  it("the job follows the task that the service shows, and completes with its results", async () => {
    const w = await setUp({ annotations: { [annotation]: " task-1 " } });
    await w.reconcile();
    expect(w.calls).toEqual(["read task-1", "follow task-1"]);
    expect(w.status()).toMatchObject({
      phase: "Queued",
      taskID: "task-1",
      attempts: 1,
      lastHandledAttachTask: "task-1",
      submission: { id: "i", attempt: 1, state: "Accepted" },
      submitTime: "2026-02-28T22:00:00Z",
      firstSubmitTime: "2026-02-28T22:00:00Z",
    });
    expect(getCondition(w.status()?.conditions, "Stalled")).toBeUndefined();
    expect(w.attached()).toMatchObject({ status: "True", reason: "Attached" });
    await until(() => w.events().length > 0);
    expect(w.events()).toEqual(["Normal Attached"]);

    w.poll(taskOf("TASK_STATUS_SUCCEED", { videos: [video] }));
    await w.reconcile();
    expect(w.status()).toMatchObject({ phase: "Succeeded", attempts: 1, results: [{ url: video.url }] });
    expect(w.attached()?.status).toBe("True");
  });

  it("a task that fails is tried again as backoffLimit says, and its ID is not attached a second time", async () => {
    const w = await setUp({ spec: { backoffLimit: 1 }, annotations: { [annotation]: "task-1" } });
    await w.reconcile();
    w.poll(taskOf("TASK_STATUS_FAILED"));
    await w.reconcile();
    expect(w.status()).toMatchObject({ phase: "Pending", failedTasks: 1 });
    expect(w.status()).not.toHaveProperty("taskID");
    expect(w.attached()).toBeUndefined();
    await w.reconcile();
    expect(w.calls.filter((call) => call.startsWith("read"))).toHaveLength(1);
  });

  it("a task past its deadline fails the job only after a poll, as any other task", async () => {
    const w = await setUp({ spec: { activeDeadlineSeconds: 60 }, annotations: { [annotation]: "task-1" } });
    await w.reconcile();
    expect(w.status()?.phase).toBe("Queued");
    w.poll(taskOf("TASK_STATUS_SUCCEED", { videos: [video] }));
    await w.reconcile();
    expect(w.status()?.phase).toBe("Succeeded");
  });

  it.each<[string, TaskResult | ServiceError, string, RegExp]>([
    [
      "that the service does not know",
      failure("NotFound"),
      "TaskNotFound",
      /^Task task-1: the service does not show it/,
    ],
    [
      "whose ID the service refuses",
      failure("InvalidRequest"),
      "TaskNotFound",
      /^Task task-1: the service does not show it/,
    ],
    [
      "of another operation",
      taskOf("TASK_STATUS_PROCESSING", { taskType: "VENDOR_SPEECH_2.6_HD" }),
      "TaskMismatch",
      /type is VENDOR_SPEECH_2\.6_HD, which is of submitSpeech/,
    ],
    [
      "with other results",
      taskOf("TASK_STATUS_SUCCEED", { audios: [video] }),
      "TaskMismatch",
      /it has a result of kind Audio/,
    ],
    ["with another ID", taskOf("TASK_STATUS_SUCCEED", { taskID: "task-2" }), "TaskMismatch", /shows task task-2/],
  ])("a task %s is refused, and the options of the halt stay", async (_name, shown, reason, message) => {
    const w = await setUp({ annotations: { [annotation]: "task-1" } });
    w.show(shown);
    expect(await w.reconcile()).toEqual({ requeueAfterMs: 300_000 });
    expect(w.attached()).toMatchObject({ status: "False", reason, message: expect.stringMatching(message) });
    expect(w.status()).toMatchObject({ phase: "Halted" });
    expect(w.status()?.lastHandledAttachTask).toBeUndefined();
    expect(getCondition(w.status()?.conditions, "Stalled")?.message).toBe(haltMessage);
    expect(w.calls).toEqual(["read task-1"]);
    await w.reconcile();
    expect(w.writes()).toHaveLength(1);
    await until(() => w.events().length > 0);
    expect(w.events()).toEqual([`Warning ${reason}`]);
  });

  it("a refused task is attached when the service shows it later", async () => {
    const w = await setUp({ annotations: { [annotation]: "task-1" } });
    w.show(failure("NotFound"));
    await w.reconcile();
    w.show(taskOf("TASK_STATUS_PROCESSING"));
    await w.reconcile();
    expect(w.status()).toMatchObject({ phase: "Queued", taskID: "task-1" });
  });

  it("the status forgets the refusal when the annotation is removed", async () => {
    const w = await setUp({ annotations: { [annotation]: "task-1" } });
    w.show(failure("NotFound"));
    await w.reconcile();
    w.annotate({});
    await w.reconcile();
    expect(w.attached()).toBeUndefined();
    expect(getCondition(w.status()?.conditions, "Stalled")?.message).toBe(haltMessage);
    await w.reconcile();
    expect(w.writes()).toHaveLength(2);
  });

  it.each<ServiceErrorKind>(["Timeout", "ServerError", "RateLimited", "BreakerOpen", "Unauthorized"])(
    "a read that ends with %s is repeated soon, and a resubmit token waits for it",
    async (kind) => {
      const w = await setUp({ annotations: { [annotation]: "task-1", [token]: "again" } });
      w.show(failure(kind));
      expect(await w.reconcile()).toEqual({ requeueAfterMs: 30_000 });
      expect(w.attached()).toMatchObject({ status: "False" });
      expect(w.status()).toMatchObject({ phase: "Halted" });
    },
  );

  it("a resubmit token releases the job when the task is refused for good", async () => {
    const w = await setUp({ annotations: { [annotation]: "task-1", [token]: "again" } });
    w.show(failure("NotFound"));
    await w.reconcile();
    expect(w.status()).toMatchObject({ phase: "Pending", lastHandledResubmitToken: "again" });
  });

  it("nothing is read while the account is held", async () => {
    const w = await setUp({ annotations: { [annotation]: "task-1" }, ready: false });
    await w.reconcile();
    expect(w.attached()).toMatchObject({ reason: "AccountNotReady" });
    expect(w.calls).toEqual([]);
  });

  it("nothing is read at another base URL than that of the request", async () => {
    const account = { kind: "ClusterAccount", name: "default", baseURL: "https://old.example.com" } as const;
    const w = await setUp({ status: { account }, annotations: { [annotation]: "task-1" } });
    await w.reconcile();
    expect(w.attached()).toMatchObject({ reason: "AccountMismatch" });
    expect(w.calls).toEqual([]);
  });

  it("a synchronous request has no task", async () => {
    const job = { ...speechJobOf("turbo"), status: halted } as SpeechJob;
    const w = await setUp({ job, annotations: { [annotation]: "task-1" } });
    await w.reconcile();
    expect(w.attached()).toMatchObject({
      reason: "TaskMismatch",
      message: expect.stringMatching(/makes no task: remove the annotation$/),
    });
    expect(w.calls).toEqual([]);
  });

  it("a value that was handled before, such as that of an earlier halt, attaches nothing", async () => {
    const w = await setUp({ status: { lastHandledAttachTask: "task-1" }, annotations: { [annotation]: "task-1" } });
    await w.reconcile();
    expect(w.calls).toEqual([]);
    expect(w.writes()).toEqual([]);
  });
});

describe("given a task that another object has", () => {
  const other = (namespace: string) => ({
    kind: "SpeechJob",
    metadata: { ...videoJobOf("image").metadata, name: "first", namespace, uid: "other" },
  });

  it.each([
    ["the same namespace, names it", "team", "SpeechJob first has it"],
    ["another namespace, does not name it", "elsewhere", "an object of another namespace has it"],
  ])("in %s and attaches nothing", async (_name, namespace, message) => {
    const w = await setUp({ annotations: { [annotation]: "task-1" }, others: [other(namespace)] });
    await w.reconcile();
    expect(w.attached()).toMatchObject({ reason: "TaskTaken", message: expect.stringContaining(message) });
    expect(w.calls).toEqual([]);
  });

  it("a task that Mooring follows for a deleted job is taken until it ends", async () => {
    const w = await setUp({ annotations: { [annotation]: "abandoned" } });
    await w.reconcile();
    expect(w.attached()).toMatchObject({ reason: "TaskTaken" });
  });

  it("of two jobs that are attached at the same time, one gets it", async () => {
    const w = await setUp({ annotations: { [annotation]: "task-1" } });
    const rival = { ...videoJobOf("image"), metadata: { ...videoJobOf("image").metadata, uid: "rival" } };
    expect(w.taskOwners.reserve("task-1", rival)).toEqual({ kind: "Reserved" });
    await w.reconcile();
    expect(w.attached()).toMatchObject({ reason: "TaskTaken" });
    w.taskOwners.release("rival");
    await w.reconcile();
    expect(w.status()?.taskID).toBe("task-1");
    expect(w.taskOwners.reserve("task-1", rival), "the reservation ends with the reconcile").toEqual({
      kind: "Reserved",
    });
  });
});
