import { describe, expect, it } from "vitest";
import type { GpuEndpointStatus } from "../../../../src/api/v1alpha1/gpu-endpoint.ts";
import { lastChangeOf } from "../../../../src/controllers/gpu-endpoint/status.ts";
import { endpointOf } from "../../../support/endpoints.ts";
import { START } from "../../../support/fake-clock.ts";

const at = (ms: number) => new Date(START + ms).toISOString();
const observed = { generation: 2, observedTime: at(0) };
const request = { sentTime: at(100), acceptedTime: at(300) };

/** Conditions of type Synced and Ready that are True for a generation. */
function conditions(types: readonly ("Synced" | "Ready")[], observedGeneration = 2): GpuEndpointStatus["conditions"] {
  return types.map((type) => ({
    type,
    status: "True" as const,
    reason: "InSync",
    message: "",
    lastTransitionTime: at(0),
    observedGeneration,
  }));
}

type Row = {
  name: string;
  before?: GpuEndpointStatus;
  after?: GpuEndpointStatus["conditions"];
  sent?: typeof request;
  expected: GpuEndpointStatus["lastChange"];
};

const ROWS: Row[] = [
  { name: "a new object was observed", expected: { generation: 2, observedTime: at(1000) } },
  {
    name: "nothing of a generation that an earlier version reconciled",
    before: { conditions: [], observedGeneration: 2 },
    after: conditions(["Synced", "Ready"]),
    expected: undefined,
  },
  {
    name: "a new generation replaces the earlier one",
    before: {
      conditions: [],
      observedGeneration: 1,
      lastChange: { generation: 1, observedTime: at(-9), readyTime: at(-5) },
    },
    expected: { generation: 2, observedTime: at(1000) },
  },
  {
    name: "its request",
    before: { conditions: [], lastChange: observed },
    sent: request,
    expected: { ...observed, ...request },
  },
  {
    name: "the first of several requests",
    before: { conditions: [], lastChange: { ...observed, ...request } },
    sent: { sentTime: at(500), acceptedTime: at(600) },
    expected: { ...observed, ...request },
  },
  {
    name: "that a read shows the spec, before the endpoint serves",
    before: { conditions: [], lastChange: { ...observed, ...request } },
    after: conditions(["Synced"]),
    expected: { ...observed, ...request, syncedTime: at(1000) },
  },
  {
    name: "no Ready of the generation before",
    before: { conditions: [], lastChange: observed },
    after: [...conditions(["Synced"]), ...conditions(["Ready"], 1)],
    expected: { ...observed, syncedTime: at(1000) },
  },
  {
    name: "that the endpoint is ready",
    before: { conditions: [], lastChange: { ...observed, syncedTime: at(400) } },
    after: conditions(["Synced", "Ready"]),
    expected: { ...observed, syncedTime: at(400), readyTime: at(1000) },
  },
  {
    name: "nothing of what happens after it was ready",
    before: { conditions: [], lastChange: { ...observed, syncedTime: at(400), readyTime: at(500) } },
    sent: request,
    expected: { ...observed, syncedTime: at(400), readyTime: at(500) },
  },
];

describe("the last change of an endpoint shows", () => {
  it.each(ROWS)("$name", ({ before, after = [], sent, expected }) => {
    const endpoint = endpointOf({}, before === undefined ? {} : { status: before });
    expect(lastChangeOf(endpoint, { ...before, conditions: after }, sent, START + 1000)).toEqual(expected);
  });
});
