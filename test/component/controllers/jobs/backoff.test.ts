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
