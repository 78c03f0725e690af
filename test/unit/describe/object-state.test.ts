import { describe, expect, it } from "vitest";
import { type AnyObject, type AnyStatus, objectState } from "../../../src/describe/object-state.ts";
import type { Condition } from "../../../src/kube/types.ts";

const condition = (type: string, status: Condition["status"], reason: string): Condition => ({
  type,
  status,
  reason,
  message: `message of ${type}`,
  lastTransitionTime: "2026-11-22T01:00:00Z",
});
const object = (status: AnyStatus | undefined, metadata: Partial<AnyObject["metadata"]> = {}): AnyObject => ({
  metadata: {
    name: "one",
    namespace: "team",
    uid: "u",
    resourceVersion: "1",
    generation: 2,
    creationTimestamp: "2026-11-22T00:00:00Z",
    ...metadata,
  },
  spec: {},
  ...(status === undefined ? {} : { status: { observedGeneration: 2, ...status } }),
});
const ready = [condition("Ready", "True", "Serving")];
const stalled = [condition("Stalled", "True", "SecretNotFound"), condition("Ready", "False", "SecretNotFound")];

describe("the state of an object", () => {
  it.each([
    { name: "new", given: object(undefined), state: "Reconciling", reason: "Pending", needsUser: false },
    { name: "ready", given: object({ conditions: ready }), state: "Ready", reason: "Serving", needsUser: false },
    {
      name: "ready, with a newer spec",
      given: object({ conditions: ready, observedGeneration: 1 }),
      state: "Reconciling",
      reason: "Serving",
      needsUser: false,
    },
    {
      name: "stalled",
      given: object({ conditions: stalled }),
      state: "Stalled",
      reason: "SecretNotFound",
      needsUser: true,
    },
    {
      name: "paused",
      given: object({ conditions: ready }, { annotations: { "mooring.dev/paused": "true" } }),
      state: "Paused",
      reason: "Serving",
      needsUser: false,
    },
    {
      name: "a deletion that is blocked",
      given: object({ conditions: stalled }, { deletionTimestamp: "2026-11-22T01:00:00Z" }),
      state: "Deleting",
      reason: "SecretNotFound",
      needsUser: true,
    },
    {
      name: "a halted job",
      given: object({ phase: "Halted", conditions: [condition("Stalled", "True", "SubmissionUnknown")] }),
      state: "Halted",
      reason: "SubmissionUnknown",
      needsUser: true,
    },
    {
      name: "a failed job",
      given: object({ phase: "Failed", conditions: [condition("Stalled", "True", "TaskFailed")] }),
      state: "Failed",
      reason: "TaskFailed",
      needsUser: false,
    },
    {
      name: "not ready, and nothing is under way",
      given: object({ conditions: [condition("Ready", "False", "AccountNotReady")] }),
      state: "NotReady",
      reason: "AccountNotReady",
      needsUser: false,
    },
  ])("$name: $state", ({ given, state, reason, needsUser }) => {
    expect(objectState(given)).toMatchObject({ state, reason, needsUser });
  });
});
