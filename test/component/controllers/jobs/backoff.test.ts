import { expect, it } from "vitest";
import { createFakeClock, until } from "../../../support/fake-clock.ts";
import { jobWorld, UID } from "./world.ts";

it("a request that the service did not take is not sent again before its backoff ends", async () => {
  const clock = createFakeClock();
  const w = await jobWorld({
    clock,
    answer: () => ({ status: 403, body: { code: 403, reason: "ACCESS_DENIED", message: "not yet", metadata: {} } }),
  });
  for (let reconciles = 0; reconciles < 7; reconciles++) {
    await w.reconcile();
    await until(() => w.running.find(UID) === undefined || w.running.find(UID)?.answer !== undefined);
  }
  expect(w.steps.filter((step) => step === "request")).toHaveLength(1);
  expect(w.running.backoffUntil(UID)).toBeGreaterThan(clock.now());
  expect(w.job()?.status).toMatchObject({ phase: "Pending", submission: { state: "NotSent" } });
});

it("an accepted request ends the backoff: a later request that the service does not take waits as the first one did", async () => {
  const clock = createFakeClock();
  const answers = [
    { status: 403, body: { code: 403, reason: "ACCESS_DENIED", message: "not yet", metadata: {} } },
    { body: { task_id: "task-1" } },
  ];
  const w = await jobWorld({ clock, answer: () => answers.shift() ?? { body: {} } });
  await w.send();
  const until = w.running.backoffUntil(UID) ?? Number.NaN;
  expect(until).toBeGreaterThan(clock.now());
  await clock.advance(until - clock.now());
  await w.send();
  expect(w.job()?.status).toMatchObject({ taskID: "task-1" });
  expect(w.running.backoffUntil(UID)).toBeUndefined();
});
