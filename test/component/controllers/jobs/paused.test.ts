import { expect, it } from "vitest";
import { jobWorld, UID } from "./world.ts";

it.each<{ name: string; answer: () => { status?: number; body: unknown }; status: object }>([
  {
    name: "accepted",
    answer: () => ({ body: { task_id: "task-1" } }),
    status: { phase: "Queued", taskID: "task-1", submission: { state: "Accepted" } },
  },
  {
    name: "refused",
    answer: () => ({ status: 400, body: { code: 400, reason: "INVALID_REQUEST_BODY" } }),
    status: { phase: "Failed", submission: { state: "Refused" } },
  },
  {
    name: "without effect",
    answer: () => ({ status: 429, body: { code: 429, reason: "RATE_LIMIT_EXCEEDED" } }),
    status: { phase: "Pending", submission: { state: "NotSent" } },
  },
  {
    name: "of unknown outcome",
    answer: () => ({ status: 500, body: { code: 500, reason: "INTERNAL_ERROR" } }),
    status: { phase: "Halted", submission: { state: "Unknown" } },
  },
])("a job that is paused while its request is in flight shows its outcome: $name", async ({ answer, status }) => {
  const answered = Promise.withResolvers<void>();
  const w = await jobWorld({
    answer: async () => {
      w.annotate({ "mooring.dev/paused": "true" });
      await answered.promise;
      return answer();
    },
  });
  await w.reconcile();
  answered.resolve();
  await w.woken();
  for (let reconciles = 0; reconciles < 3; reconciles++) await w.reconcile();
  expect(w.job()?.status).toMatchObject(status);
  expect(w.running.find(UID)).toBeUndefined();
  expect(w.polled()).toBe(0);

  w.annotate({ "mooring.dev/paused": "false" });
  await w.reconcile();
  expect(w.polled()).toBe(status && "taskID" in status ? 1 : 0);
});
