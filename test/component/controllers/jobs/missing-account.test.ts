import { expect, it } from "vitest";
import { getCondition, needsUser } from "../../../../src/api/v1alpha1/conditions.ts";
import type { VideoJob } from "../../../../src/api/v1alpha1/video-job.ts";
import { START } from "../../../support/fake-clock.ts";
import { videoJobOf } from "../../../support/jobs.ts";
import { jobApi, jobReconciler } from "./world.ts";

/** `ms` before the reconcile. */
function createdBefore(job: VideoJob, ms: number): VideoJob {
  const creationTimestamp = new Date(START - ms).toISOString();
  return { ...job, metadata: { ...job.metadata, creationTimestamp } };
}

it("a new job waits for an account that is applied with it", async () => {
  const job = createdBefore(videoJobOf("image"), 10_000);
  const api = await jobApi(job);
  const w = jobReconciler(api.client, job, {});
  expect(await w.reconcile()).toEqual({ requeueAfterMs: 5_000 });
  expect(getCondition(w.stored()?.status?.conditions, "Reconciling")?.reason).toBe("AccountNotFound");
  expect(needsUser(w.stored()?.status)).toBe(false);
});

it("a job whose account does not exist needs a user, and has one event", async () => {
  const job = createdBefore(videoJobOf("image"), 15_000);
  const api = await jobApi(job);
  const w = jobReconciler(api.client, job, {});
  await w.reconcile();
  await w.reconcile();
  expect(w.stored()?.status).toMatchObject({ phase: "Pending" });
  expect(needsUser(w.stored()?.status)).toBe(true);
  await expect.poll(() => api.requests.filter(({ path }) => path.includes("/events"))).toHaveLength(1);
});
