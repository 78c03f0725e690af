import { expect, it } from "vitest";
import type { VideoJobStatus } from "../../../../src/api/v1alpha1/video-job.ts";
import { workOf } from "../../../../src/controllers/jobs/types.ts";
import { NO_ALLOWANCE } from "../../../../src/submission/allowance.ts";
import { fakeTasks } from "../../../support/fake-tasks.ts";
import { taskOf, videoJobOf } from "../../../support/jobs.ts";
import type { Change } from "../../../support/manifests.ts";
import { accountAt } from "../../../support/service-account.ts";
import { jobApi, jobReconciler } from "./world.ts";

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

const ONE_TASK = { ...NO_ALLOWANCE, maxTasks: 1 };

/** A job whose task is queued at the service, in an account that allows one task. */
async function setUp(spec: Change = {}) {
  const job = videoJobOf("image", spec, submitted);
  const api = await jobApi(job);
  let shown = taskOf("TASK_STATUS_QUEUED");
  const { tasks, polled } = fakeTasks({ latest: () => ({ result: shown, at: w.clock.now() }) });
  const w = jobReconciler(api.client, job, {
    maxTasks: 1,
    handles: [accountAt(baseURL, { key: ACCOUNT, tasks, allowance: () => ONE_TASK })],
  });
  return {
    ...w,
    polled,
    remove: () => w.kind.store.remove(job),
    /** The task ends, and the account is reconciled. */
    end: () => {
      shown = taskOf("TASK_STATUS_SUCCEED");
      w.shared.abandoned.check(ACCOUNT);
    },
    next: () => w.admission.request(ACCOUNT, { ...workOf(job), uid: "next" }, () => {}).kind,
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
  expect(w.stored()?.status?.phase).toBe("Failed");
  await w.reconcile();
  expect([w.next(), [...w.polled]]).toEqual(["Waiting", ["task-1"]]);
  w.end();
  expect(w.next()).toBe("Admitted");
});
