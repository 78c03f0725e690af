import { describe, expect, it } from "vitest";
import { getCondition } from "../../../../src/api/v1alpha1/conditions.ts";
import type { VideoJobStatus } from "../../../../src/api/v1alpha1/video-job.ts";
import type { AccountKey } from "../../../../src/controllers/account/registry.ts";
import { ServiceError } from "../../../../src/provider/errors.ts";
import type { Useless } from "../../../../src/provider/tasks/task-result.ts";
import type { PollFailure, TaskObservation } from "../../../../src/provider/types.ts";
import { START, until } from "../../../support/fake-clock.ts";
import { fakeTasks } from "../../../support/fake-tasks.ts";
import { taskOf, video, videoJobOf } from "../../../support/jobs.ts";
import type { Change } from "../../../support/manifests.ts";
import { accountAt } from "../../../support/service-account.ts";
import { jobApi, jobReconciler } from "./world.ts";

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
  let failing: PollFailure | undefined;
  const calls: string[] = [];
  const { tasks } = fakeTasks({
    follow: (taskID) => void calls.push(`follow ${taskID}`),
    forget: (taskID) => void calls.push(`forget ${taskID}`),
    pollNow: (taskID) => void calls.push(`poll ${taskID}`),
    latest: () => latest,
    failing: () => failing,
    inFlight: () => 1,
  });
  const show = (next: TaskObservation) => {
    latest = next;
  };
  const fail = (next: PollFailure | undefined) => {
    failing = next;
  };
  return { tasks, calls, show, fail };
}

/** A submitted job whose namespace has an Account `default`, while it is bound to the ClusterAccount `default`. */
async function setUp(spec: Change, status: VideoJobStatus = submitted) {
  /** How long a write of the status takes, ms. */
  let writeMs = 0;
  const job = videoJobOf("image", spec, status);
  job.metadata.creationTimestamp = "2026-02-28T22:00:00Z";
  const api = await jobApi(job, { onStored: () => w.clock.setWallClock(writeMs) });
  const [bound, other] = [tasksOf(), tasksOf()];
  let allowed = true;
  const handleOf = (key: AccountKey, { tasks }: typeof bound) =>
    accountAt(baseURL, { key, tasks, refusal: async () => (allowed ? undefined : "not allowed") });
  const handles = [handleOf("ClusterAccount/default", bound), handleOf("Account/team/default", other)];
  const w = jobReconciler(api.client, job, { maxTasks: 1, handles });
  return {
    ...w,
    bound,
    other,
    /** Whether the namespace has the label that the ClusterAccount asks for. */
    allow: (next: boolean) => {
      allowed = next;
    },
    /** Whether another job gets the account's only slot. */
    nextIsAdmitted: () => w.nextIsAdmitted("ClusterAccount/default"),
    writesTake: (ms: number) => {
      writeMs = ms;
    },
    events: () => api.requests.flatMap(({ path, body }) => (path.includes("/events") ? [body as EventBody] : [])),
    status: () => w.stored()?.status,
  };
}

type EventBody = { reason: string; type: string };

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

it("given a namespace that loses the label of its ClusterAccount, when it returns, the job has the result of its task", async () => {
  const w = await setUp({});
  w.bound.show(processing(START));
  await w.reconcile();
  w.allow(false);
  expect(await w.reconcile()).toEqual({ requeueAfterMs: 31_000 });
  expect(getCondition(w.status()?.conditions, "Stalled")?.reason).toBe("NamespaceNotAllowed");
  w.bound.show(succeeded(START + 1_000));
  w.allow(true);
  await w.reconcile();
  expect(w.status()?.phase).toBe("Succeeded");
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

describe("given results whose URLs have expired, and a copy that the source refuses", () => {
  const results = [{ kind: "Video" as const, url: video.url, type: "mp4", expiresAt: "2026-02-28T23:00:00Z" }];
  const storing: VideoJobStatus = { ...submitted, phase: "Storing", results };
  const { taskID: _, ...ofNoTask } = storing;

  it.each<{ name: string; status: VideoJobStatus; expected: string }>([
    { name: "of a task stay, and the copy is repeated", status: storing, expected: "Storing ResultUnavailable" },
    { name: "of no task are lost", status: ofNoTask, expected: "Failed NoResult" },
  ])("they $name", async ({ status, expected }) => {
    const w = await setUp({ output: { storeRef: { name: "missing" } } }, status);
    const refused = { reason: "ResultUnavailable", message: "HTTP 403", stalled: true } as const;
    w.copies.begin(
      videoJobOf("image").metadata.uid,
      () => {},
      async () => ({ kind: "Failed", results, ...refused }),
    );
    await w.clock.advance(0);
    await w.reconcile();
    const after = w.status();
    expect(`${after?.phase} ${getCondition(after?.conditions, "Stalled")?.reason}`).toBe(expected);
  });
});

describe("given a deadline that passes while the status is written", () => {
  it("the job is reconciled at once, and fails after the next poll", async () => {
    const twoHours = 7_200;
    const w = await setUp({ activeDeadlineSeconds: twoHours + 1 });
    w.bound.show(processing(START));
    w.writesTake(2_000);
    expect(await w.reconcile()).toEqual({ requeueAfterMs: 0 });
    expect(w.status()?.phase).toBe("Running");
    w.writesTake(0);
    expect(await w.reconcile()).toEqual({ requeueAfterMs: 2_000 });
    w.bound.show(processing(START + 2_000));
    await w.reconcile();
    expect(getCondition(w.status()?.conditions ?? [], "Failed")?.reason).toBe("DeadlineExceeded");
  });
});

describe("given a task whose polls keep failing", () => {
  const minute = 60_000;
  const failure = (kind: "NotFound" | "Timeout", message: string, since = START): PollFailure => ({
    since,
    error: new ServiceError({ operation: "getTaskResult", kind, delivery: "Refused", message }),
  });
  const ready = (status: VideoJobStatus | undefined) => getCondition(status?.conditions ?? [], "Ready");

  it("the status says since when the service does not know the task, and when the slot is given back", async () => {
    const w = await setUp({});
    w.bound.show(processing(START));
    await w.reconcile();
    await w.clock.advance(minute);
    w.bound.fail(failure("NotFound", "the service answered 404: TASK_NOT_FOUND"));
    expect(await w.reconcile()).toEqual({ requeueAfterMs: 9 * minute });
    expect(w.status()).toMatchObject({ phase: "Running", pollsFailingSince: "2026-03-01T00:00:00Z" });
    expect(ready(w.status())).toMatchObject({
      status: "False",
      reason: "TaskNotFound",
      message:
        "The service has not known task task-1 since 2026-03-01T00:00:00Z (getTaskResult: the service answered 404: TASK_NOT_FOUND). Mooring continues to poll and sends nothing again. At 2026-03-01T00:10:00Z the job stops counting toward maxConcurrentTasks",
    });
    expect(w.nextIsAdmitted()).toBe(false);
  });

  it("after ten minutes it gives its slot back, says what to do, and is neither failed nor sent again", async () => {
    const w = await setUp({ backoffLimit: 3, onSubmissionUnknown: "Resubmit", activeDeadlineSeconds: 60 });
    w.bound.fail(failure("Timeout", "no response within 30 s"));
    await w.clock.advance(minute);
    await w.reconcile();
    expect(w.nextIsAdmitted()).toBe(false);
    await w.clock.advance(9 * minute);
    expect(await w.reconcile()).toBeUndefined();
    expect(w.status()).toMatchObject({ phase: "Running", taskID: "task-1" });
    expect(getCondition(w.status()?.conditions, "Stalled")).toMatchObject({
      reason: "PollsFailing",
      message:
        "Every poll of task task-1 has failed since 2026-03-01T00:00:00Z (getTaskResult: no response within 30 s). Mooring continues to poll and sends nothing again; the job no longer counts toward maxConcurrentTasks. Check whether the service and the account's key can read the task: it may have succeeded. Give up: kubectl delete videojob -n team sea",
    });
    expect(w.nextIsAdmitted()).toBe(true);
    await w.reconcile();
    expect(w.nextIsAdmitted()).toBe(true);
    expect(w.bound.calls).toEqual(["follow task-1"]);
    await until(() => w.events().length > 1);
    expect(w.events().map(({ type, reason }) => `${type} ${reason}`)).toEqual([
      "Warning PollsFailing",
      "Warning PollsFailing",
    ]);
  });

  it("a long error is cut to 200 characters, so that the command after it is complete", async () => {
    const w = await setUp({});
    w.bound.fail(failure("Timeout", "late ".repeat(200)));
    await w.clock.advance(11 * minute);
    await w.reconcile();
    const { message = "" } = ready(w.status()) ?? {};
    expect(/\((.*?)\)\. Mooring/.exec(message)?.[1]).toHaveLength(200);
    expect(message).toMatch(/Give up: kubectl delete videojob -n team sea$/);
  });

  it("a poll that succeeds again takes the slot back and clears the status", async () => {
    const w = await setUp({});
    w.bound.fail(failure("NotFound", "404"));
    await w.clock.advance(11 * minute);
    await w.reconcile();
    expect(w.nextIsAdmitted()).toBe(true);
    w.bound.fail(undefined);
    w.bound.show(processing(w.clock.now()));
    await w.reconcile();
    expect(w.status()).toMatchObject({ phase: "Running" });
    expect(w.status()).not.toHaveProperty("pollsFailingSince");
    expect(getCondition(w.status()?.conditions, "Stalled")).toBeUndefined();
    expect(w.nextIsAdmitted()).toBe(false);
    w.bound.show(succeeded(w.clock.now()));
    await w.reconcile();
    expect(w.status()?.phase).toBe("Succeeded");
  });

  it.each<{ status: string; useless: Useless; reason: string; words: string[] }>([
    {
      status: "TASK_STATUS_SUCCEED",
      useless: { kind: "NoResults", omitted: 0 },
      reason: "NoResult",
      words: ["Task task-1 has succeeded without any result since 2026-03-01T00:00:00Z", "Ask the service's support"],
    },
    {
      status: "TASK_STATUS_ENDED",
      useless: { kind: "UnknownStatus", status: "TASK_STATUS_ENDED" },
      reason: "RemoteStatusUnknown",
      words: ['Task task-1 has shown status "TASK_STATUS_ENDED", which Mooring does not know, without a change since'],
    },
  ])(
    "a task that shows $status gives its slot back, stalls, and goes on",
    async ({ status, useless, reason, words }) => {
      const w = await setUp({ backoffLimit: 3 });
      w.bound.show({ result: taskOf(status), at: START });
      await w.reconcile();
      expect([w.status()?.phase, w.nextIsAdmitted()]).toEqual(["Running", false]);
      w.bound.fail({ since: START, useless });
      await w.clock.advance(61 * minute);
      await w.reconcile();
      const stalled = getCondition(w.status()?.conditions, "Stalled");
      expect(stalled?.reason).toBe(reason);
      for (const text of [...words, "Mooring continues to poll and sends nothing again"]) {
        expect(stalled?.message).toContain(text);
      }
      expect([w.status()?.phase, w.nextIsAdmitted()]).toEqual(["Running", true]);

      const restarted = await setUp({}, { ...submitted, ...w.status() });
      restarted.bound.show({ result: taskOf(status), at: START + 62 * minute });
      await restarted.reconcile();
      expect(getCondition(restarted.status()?.conditions, "Stalled")?.reason).toBe(reason);
      expect(restarted.nextIsAdmitted()).toBe(true);

      restarted.bound.show(succeeded(restarted.clock.now()));
      await restarted.reconcile();
      expect(restarted.status()).toMatchObject({ phase: "Succeeded", results: [{ url: video.url }] });
    },
  );

  it("a restart does not start the time anew and hides nothing until a poll ends", async () => {
    const before = await setUp({});
    before.bound.fail(failure("NotFound", "404"));
    await before.clock.advance(10 * minute);
    await before.reconcile();
    const w = await setUp({}, { ...submitted, ...before.status() });
    await w.clock.advance(20 * minute);
    await w.reconcile();
    expect(w.status()).toEqual({ ...submitted, ...before.status() });
    expect(w.nextIsAdmitted()).toBe(true);
    w.bound.fail(failure("NotFound", "404", START + 20 * minute));
    await w.reconcile();
    expect(ready(w.status())?.message).toContain("since 2026-03-01T00:00:00Z");
  });
});
