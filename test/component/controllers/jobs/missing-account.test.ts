import { expect, it } from "vitest";
import { needsUser } from "../../../../src/api/v1alpha1/conditions.ts";
import { videoJobOf } from "../../../support/jobs.ts";
import { jobApi, jobReconciler } from "./world.ts";

it("a job whose account does not exist needs a user, and has one event", async () => {
  const job = videoJobOf("image");
  const api = await jobApi(job);
  const w = jobReconciler(api.client, job, {});
  await w.reconcile();
  await w.reconcile();
  expect(w.stored()?.status).toMatchObject({ phase: "Pending" });
  expect(needsUser(w.stored()?.status)).toBe(true);
  await expect.poll(() => api.requests.filter(({ path }) => path.includes("/events"))).toHaveLength(1);
});
