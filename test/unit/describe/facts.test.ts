import { describe, expect, it } from "vitest";
import { costOf, durationText, progressOf } from "../../../src/describe/facts.ts";
import type { AnyObject, AnyStatus } from "../../../src/describe/object-state.ts";
import { storedMeta } from "../../support/stored-meta.ts";

const CREATED = "2026-03-01T00:00:00Z";
const NOW = Date.parse("2026-03-01T00:03:00Z");
const objectOf = (status: AnyStatus, spec: object = {}): AnyObject => ({
  metadata: { ...storedMeta({ name: "sea", namespace: "team" }), creationTimestamp: CREATED },
  spec,
  status,
});

describe("how far an object is", () => {
  it.each([
    {
      given: "a job that runs",
      status: { phase: "Running", progressPercent: 40, etaSeconds: 30, submitTime: "2026-03-01T00:02:00Z" },
      expected: { percent: 40, elapsedSeconds: 60, leftSeconds: 30 },
    },
    { given: "a job that waits", status: { phase: "Pending", etaSeconds: 30 }, expected: { elapsedSeconds: 180 } },
    {
      given: "a job that has ended",
      status: {
        phase: "Succeeded",
        progressPercent: 100,
        submitTime: "2026-03-01T00:00:10Z",
        completionTime: "2026-03-01T00:00:50Z",
      },
      expected: { elapsedSeconds: 40 },
    },
    { given: "an endpoint", status: { workers: { ready: 1 } }, expected: { workers: { ready: 1, max: 3 } } },
    { given: "an account", status: {}, expected: {} },
  ])("$given", ({ status, expected }) => {
    expect(progressOf(objectOf(status, { workers: { min: 0, max: 3 } }), NOW)).toEqual(expected);
  });
});

it.each([
  { status: { estimatedCost: "0.12" }, expected: { yuan: "0.12", per: "job" } },
  { status: { estimatedCost: { month: "3" } }, expected: { yuan: "3", per: "month" } },
  { status: { spend: { month: "40" } }, expected: { yuan: "40", per: "month" } },
  { status: { totals: { amount: "5" } }, expected: { yuan: "5", per: "report" } },
  { status: {}, expected: undefined },
])("the cost of $status", ({ status, expected }) => expect(costOf(objectOf(status))).toEqual(expected));

it.each([
  [0.4, "0s"],
  [59, "59s"],
  [185, "3m05s"],
  [7_800, "2h10m"],
])("%i seconds are %s", (seconds, text) => expect(durationText(seconds)).toBe(text));
