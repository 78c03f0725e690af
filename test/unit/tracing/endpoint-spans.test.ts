import { describe, expect, it } from "vitest";
import { type CutOff, endpointSpans, type TracedChange } from "../../../src/tracing/trace-source.ts";
import { endpointOf } from "../../support/endpoints.ts";
import { expectWellFormed, treeOf } from "../../support/spans.ts";

const created = Date.parse(endpointOf().metadata.creationTimestamp ?? "");
const at = (ms: number) => new Date(created + ms).toISOString();

type Row = { name: string; change: TracedChange; cutOff?: CutOff; expected: string[] };

const ROWS: Row[] = [
  {
    name: "a create, from the creation of the object",
    change: {
      generation: 1,
      observedTime: at(300),
      sentTime: at(500),
      acceptedTime: at(900),
      syncedTime: at(1500),
      readyTime: at(9000),
    },
    expected: ["GpuEndpoint 0-9000", "  prepare 0-500", "  request 500-900", "  confirm 900-1500", "  boot 1500-9000"],
  },
  {
    name: "an update, from the time when it was observed",
    change: {
      generation: 4,
      observedTime: at(60_000),
      sentTime: at(60_100),
      acceptedTime: at(60_200),
      syncedTime: at(60_300),
      readyTime: at(60_300),
    },
    expected: [
      "GpuEndpoint 60000-60300",
      "  prepare 60000-60100",
      "  request 60100-60200",
      "  confirm 60200-60300",
      "  boot 60300-60300",
    ],
  },
  {
    name: "a change that the service has already",
    change: { generation: 2, observedTime: at(10), syncedTime: at(20), readyTime: at(30) },
    expected: ["GpuEndpoint 10-30", "  confirm 10-20", "  boot 20-30"],
  },
  {
    name: "a change that a later one replaced before it was confirmed",
    change: { generation: 2, observedTime: at(10), sentTime: at(20), acceptedTime: at(30) },
    cutOff: { outcome: "Superseded", atMs: created + 500 },
    expected: ["GpuEndpoint 10-500", "  prepare 10-20", "  request 20-30", "  confirm 30-500"],
  },
  {
    name: "a deletion before anything was sent",
    change: { generation: 2, observedTime: at(10) },
    cutOff: { outcome: "Deleted", atMs: created + 90 },
    expected: ["GpuEndpoint 10-90", "  prepare 10-90"],
  },
];

describe("the trace of a change of an endpoint shows", () => {
  it.each(ROWS)("$name", ({ change, cutOff, expected }) => {
    const endpoint = endpointOf({}, { status: { conditions: [], endpointID: "ep-1", lastChange: change } });
    const spans = endpointSpans(endpoint, cutOff);
    expect(treeOf(spans, created)).toEqual(expected);
    expectWellFormed(spans);
    expect(spans[0]?.attributes).toMatchObject({
      "mooring.kind": "GpuEndpoint",
      "mooring.generation": change.generation,
      "mooring.endpoint.id": "ep-1",
      "mooring.outcome": cutOff?.outcome ?? "Ready",
    });
  });

  it("nothing before it is ready", () => {
    const lastChange = { generation: 2, observedTime: at(10), sentTime: at(20), acceptedTime: at(30) };
    expect(endpointSpans(endpointOf({}, { status: { conditions: [], lastChange } }))).toEqual([]);
  });
});
