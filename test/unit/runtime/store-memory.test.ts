import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import type { KubeObject } from "../../../src/kube/types.ts";
import { createStore } from "../../../src/runtime/store.ts";

const COUNT = 2_000;
const time = "2026-11-27T10:00:00Z";
const image = "registry.example/team/model-server:2026.11";
const condition = (type: string) => {
  return { type, status: "True", reason: "Ready", message: "The endpoint serves requests", lastTransitionTime: time };
};

setFlagsFromString("--expose-gc");
const gc: () => void = runInNewContext("gc");

/** As a watch shows it. */
const textOf = (index: number) =>
  JSON.stringify({
    apiVersion: "mooring.dev/v1alpha1",
    kind: "GpuEndpoint",
    metadata: {
      name: `e-${index}`,
      namespace: "team",
      uid: `uid-${index}`,
      resourceVersion: `${index}`,
      creationTimestamp: time,
    },
    spec: { image, deletionPolicy: "ScaleToZero", driftPolicy: "Reapply", managementPolicy: "Full" },
    status: { image, createdAt: time, lastAppliedTime: time, conditions: ["Ready", "Synced"].map(condition) },
  });

/** Bytes of each object. `keep`: returns what holds it. */
function bytesOf(keep: (objects: Iterable<KubeObject>) => unknown): number {
  function* objects(): Generator<KubeObject> {
    for (let index = 0; index < COUNT; index++) yield JSON.parse(textOf(index));
  }
  gc();
  const before = process.memoryUsage().heapUsed;
  const kept = keep(objects());
  gc();
  const after = process.memoryUsage().heapUsed;
  expect(kept).toBeDefined(); // it is alive until here
  return (after - before) / COUNT;
}

const ROUNDS = 5;
const median = (all: readonly number[]) => all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)] ?? Number.NaN;

it("the texts that objects share are in memory once: the store takes less than the objects alone", () => {
  const alone: number[] = [];
  const stored: number[] = [];
  // What other tests of the process have left is freed in one round at most.
  for (let round = 0; round < ROUNDS; round++) {
    alone.push(bytesOf((objects) => [...objects]));
    stored.push(
      bytesOf((objects) => {
        const store = createStore<KubeObject>({ uid: ({ metadata }) => [metadata.uid ?? ""] });
        for (const object of objects) store.upsert(object);
        return store;
      }),
    );
  }
  expect(median(stored)).toBeLessThan(median(alone) * 0.85);
});
