import { describe, expect, it } from "vitest";
import { PENDING_CONDITION } from "../../../src/api/v1alpha1/meta.ts";
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
      name: "a suspended endpoint",
      given: object({ conditions: [condition("Ready", "True", "Suspended")] }),
      state: "Suspended",
      reason: "Suspended",
      needsUser: false,
    },
    {
      name: "a suspended job",
      given: object({ phase: "Pending", conditions: [condition("Ready", "False", "Suspended")] }),
      state: "Suspended",
      reason: "Suspended",
      needsUser: false,
    },
    {
      name: "an endpoint that is resumed",
      given: object({ conditions: [condition("Ready", "True", "Suspended")], observedGeneration: 1 }),
      state: "Reconciling",
      reason: "Suspended",
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

describe("the process that serves an account", () => {
  const server = { namespace: "mooring-system", lease: "mooring-0", since: "2026-11-22T01:00:00Z" };
  it.each([
    { name: "of an account that is served", given: server, shown: "mooring-system/mooring-0" },
    {
      name: "of an account that was released",
      given: { ...server, released: "2026-11-22T02:00:00Z" },
      shown: undefined,
    },
    { name: "of an account that was never served", given: undefined, shown: undefined },
  ])("$name: $shown", ({ given, shown }) => {
    expect(objectState(object({ conditions: ready, server: given })).server).toBe(shown);
  });
});

it("a new object is Pending since its creation: the API server gives its condition the epoch", () => {
  expect(objectState(object({ conditions: [PENDING_CONDITION] })).since).toBe("2026-11-22T00:00:00Z");
  expect(objectState(object({ conditions: ready })).since).toBe("2026-11-22T01:00:00Z");
});
