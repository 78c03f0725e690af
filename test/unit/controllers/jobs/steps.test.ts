import { expect, it } from "vitest";
import { retryTask, sendAgain, showSending } from "../../../../src/controllers/jobs/steps.ts";
import { START } from "../../../support/fake-clock.ts";
import { recordOf, videoJobOf } from "../../../support/jobs.ts";

const afterMs = (ms: number) => new Date(START + ms).toISOString().replace(".000Z", "Z");

it.each([
  { attempt: 1, ms: 1_000 },
  { attempt: 2, ms: 2_000 },
  { attempt: 4, ms: 8_000 },
  { attempt: 40, ms: 300_000 },
])("attempt $attempt with an unknown outcome is followed by the next one after $ms ms", ({ attempt, ms }) => {
  const submitted = { record: recordOf({ attempt }), cause: "the connection broke" };

  const step = sendAgain({ kind: "UnknownButResubmit", ...submitted }, { job: videoJobOf("image"), now: START });

  expect(step.againMs).toBe(ms);
  expect(step.written?.nextAttemptTime).toBe(afterMs(ms));
});

it.each([
  { failedTasks: 0, ms: 10_000 },
  { failedTasks: 1, ms: 20_000 },
  { failedTasks: 9, ms: 360_000 },
])("after $failedTasks failed tasks, another one is followed by an attempt after $ms ms", ({ failedTasks, ms }) => {
  const job = videoJobOf("image", {}, { conditions: [], failedTasks });

  const step = retryTask({ kind: "TaskFailedRetry", message: "the task failed" }, { job, now: START });

  expect(step.againMs).toBe(ms);
  expect(step.written).toMatchObject({ failedTasks: failedTasks + 1, nextAttemptTime: afterMs(ms) });
});

it.each([
  { what: "its artifact is open", request: { sent: false, opens: true }, reason: "Submitting" },
  { what: "the account's rate limit lets it through", request: { sent: false }, reason: "RateLimited" },
])("a request that waits until $what is pending, and needs nobody to act", ({ request, reason }) => {
  const context = { job: videoJobOf("image"), now: START };

  const step = showSending({ kind: "UnderWay", since: START - 60_000, ...request }, context);

  expect(step.outcome).toMatchObject({ phase: "Pending", reason, stalled: false });
});
