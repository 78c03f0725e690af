import { expect, it } from "vitest";
import { hasWorkers } from "../../../bench/endpoint-state.ts";
import { endpoint } from "../../../bench/manifests.ts";

it.each([
  { name: "Ready in its generation", generation: 2, observed: 2, status: "True", max: 2, expected: true },
  { name: "Ready in an earlier generation", generation: 2, observed: 1, status: "True", max: 2, expected: false },
  { name: "not Ready", generation: 2, observed: 2, status: "False", max: 2, expected: false },
  { name: "not changed yet", generation: 2, observed: 2, status: "True", max: 3, expected: false },
] as const)("an endpoint that is $name: $expected", ({ generation, observed, status, max, expected }) => {
  const { spec } = endpoint("e-0");
  const condition = { type: "Ready", status, reason: "Serving", message: "", observedGeneration: observed };
  const conditions = [{ ...condition, lastTransitionTime: "2026-03-01T00:00:00Z" }];
  expect(hasWorkers({ metadata: { generation }, spec, status: { conditions } }, max)).toBe(expected);
});
