import { expect, it } from "vitest";
import { createRefusals } from "../../../../src/controllers/gpu-endpoint/write-limits.ts";
import type { Cause } from "../../../../src/controllers/verdict.ts";

const refusal: Cause = { reason: "RemoteRefused", message: "no" };

it("a refusal belongs to one desired endpoint of one object, for a time", () => {
  const refusals = createRefusals();
  refusals.note("uid", "desired", refusal, 1_000);
  expect(refusals.find("uid", "desired", 400)).toEqual({ refusal, againMs: 600 });
  expect(refusals.find("uid", "desired", 1_000)).toBeUndefined();
  expect(refusals.find("uid", "another", 400)).toBeUndefined();
  expect(refusals.find("other", "desired", 400)).toBeUndefined();
});

it("only the last refusal stands, and none of an object that went", () => {
  const refusals = createRefusals();
  refusals.note("uid", "desired", refusal, 1_000);
  refusals.note("uid", "another", refusal, 2_000);
  expect(refusals.find("uid", "desired", 400)).toBeUndefined();
  refusals.forget("uid");
  expect(refusals.find("uid", "another", 400)).toBeUndefined();
});
