import { expect, it } from "vitest";
import { getCondition } from "../../../../src/api/v1alpha1/conditions.ts";
import { mediaBatchStatusSchema } from "../../../../src/api/v1alpha1/media-batch.ts";
import { BATCH_STATES, batchAfter } from "../../../support/golden/batches.ts";

it.each(BATCH_STATES)("a batch %s shows it", (_, before, outcome, written, shows) => {
  const { status } = batchAfter(before, outcome, written);
  const { phase, conditions, progress } = status;
  expect(
    [phase, getCondition(conditions, "Ready")?.reason, progress].filter((part) => part !== undefined).join(" "),
  ).toBe(shows);
  expect(mediaBatchStatusSchema.parse(status)).toEqual(status);
});
