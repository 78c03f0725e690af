import { Registry } from "prom-client";
import { expect, it } from "vitest";
import type { Condition } from "../../../src/kube/types.ts";
import { registerObjectMetrics } from "../../../src/operator/object-metrics.ts";
import { START } from "../../support/fake-clock.ts";

const after = (seconds: number) => new Date(START + seconds * 1000).toISOString();
const stalledAt = (seconds: number): Condition => ({
  type: "Stalled",
  status: "True",
  reason: "InvalidSpec",
  message: "",
  lastTransitionTime: after(seconds),
});
const object = (name: string, namespace: string | undefined, metadata: object, status: object = {}) => ({
  metadata: { name, ...(namespace === undefined ? {} : { namespace }), ...metadata },
  status,
});

it("objects that need a user or are being deleted are counted by kind and namespace, with the age of the oldest", async () => {
  const registry = new Registry();
  let endpoints = [
    object("a", "team-a", {}, { conditions: [stalledAt(10)] }),
    object("b", "team-a", {}, { conditions: [stalledAt(40)] }),
    object("c", "team-a", {}, { conditions: [] }),
    object("d", "team-b", { deletionTimestamp: after(55) }, { conditions: [stalledAt(0)] }),
  ];
  const lists = {
    GpuEndpoint: () => endpoints,
    SpeechJob: () => [
      object("failed", "team-a", {}, { phase: "Failed", conditions: [stalledAt(0)] }),
      object("halted", "team-a", {}, { phase: "Halted", conditions: [stalledAt(30)] }),
    ],
    ClusterAccount: () => [object("default", undefined, {}, { conditions: [stalledAt(59)] })],
  };
  registerObjectMetrics(registry, lists, { now: () => START + 60_000 });
  const lines = (await registry.metrics()).split("\n").filter((line) => line.startsWith("mooring_"));
  expect(lines.sort()).toEqual([
    'mooring_stuck_objects_oldest_seconds{kind="ClusterAccount",namespace="",state="Stalled"} 1',
    'mooring_stuck_objects_oldest_seconds{kind="GpuEndpoint",namespace="team-a",state="Stalled"} 50',
    'mooring_stuck_objects_oldest_seconds{kind="GpuEndpoint",namespace="team-b",state="Deleting"} 5',
    'mooring_stuck_objects_oldest_seconds{kind="SpeechJob",namespace="team-a",state="Stalled"} 30',
    'mooring_stuck_objects{kind="ClusterAccount",namespace="",state="Stalled"} 1',
    'mooring_stuck_objects{kind="GpuEndpoint",namespace="team-a",state="Stalled"} 2',
    'mooring_stuck_objects{kind="GpuEndpoint",namespace="team-b",state="Deleting"} 1',
    'mooring_stuck_objects{kind="SpeechJob",namespace="team-a",state="Stalled"} 1',
  ]);
  endpoints = [];
  expect(await registry.metrics()).not.toContain('kind="GpuEndpoint"');
});
