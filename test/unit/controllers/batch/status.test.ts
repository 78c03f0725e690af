import { expect, it } from "vitest";
import { getCondition } from "../../../../src/api/v1alpha1/conditions.ts";
import { mediaBatchStatusSchema } from "../../../../src/api/v1alpha1/media-batch.ts";
import { createIndexSet, MAX_ITEMS } from "../../../../src/controllers/batch/index-set.ts";
import { progressOf, shownProgress } from "../../../../src/controllers/batch/progress.ts";
import { BATCH_STATES, batchAfter } from "../../../support/golden/batches.ts";

it.each(BATCH_STATES)("a batch %s shows it", (_, before, outcome, written, shows) => {
  const { status } = batchAfter(before, outcome, written);
  const { phase, conditions, progress } = status;
  expect(
    [phase, getCondition(conditions, "Ready")?.reason, progress].filter((part) => part !== undefined).join(" "),
  ).toBe(shows);
  expect(mediaBatchStatusSchema.parse(status)).toEqual(status);
});

it("a batch that was suspended says that it goes on, but not while something holds it up", () => {
  const { status } = batchAfter(undefined, { kind: "Suspended" });
  const suspended = (outcome: Parameters<typeof batchAfter>[1]) =>
    getCondition(batchAfter(status, outcome).status.conditions, "Suspended")?.status;
  expect(suspended({ kind: "Held", stalled: true, reason: "StoreNotReady", message: "there is no store" })).toBe(
    "True",
  );
  expect(suspended({ kind: "Running", halted: 0, onlyHalted: false })).toBe("False");
});

it("the largest status is below 64 KiB: every second item failed, and 2,000 halted jobs and 500 others lie far apart", () => {
  const every = (step: number, from = 0) =>
    createIndexSet(Array.from({ length: Math.ceil((MAX_ITEMS - from) / step) }, (_, i) => from + i * step));
  const [failed, active, creating] = [every(2), every(MAX_ITEMS / 2_500), every(MAX_ITEMS / 500)];
  for (const index of active.values()) failed.remove(index);
  const progress = { completed: every(2, 1), failed, active, creating };

  const { halted, onlyHalted } = { halted: 2_000, onlyHalted: true };
  const written = { ...shownProgress(progress), total: MAX_ITEMS, parts: 400, startTime: "2026-02-28T23:00:00Z" };
  const { status } = batchAfter(undefined, { kind: "Running", halted, onlyHalted }, written);
  expect(JSON.stringify(status).length).toBeLessThan(64 * 1024);

  const again = progressOf(mediaBatchStatusSchema.parse(status));
  expect(Object.values(again).map((set) => set.size())).toEqual([50_000, 47_500, 2_500, 500]);
});
