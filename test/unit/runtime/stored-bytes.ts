import { parentPort } from "node:worker_threads";
import type { KubeObject } from "../../../src/kube/types.ts";
import { createStore } from "../../../src/runtime/store.ts";
import { gc } from "../../support/gc.ts";

/** A worker that measures in its own heap, which no other test uses: tells the bytes of an object alone, and in a store. */

const COUNT = 2_000;
const time = "2026-11-27T10:00:00Z";
const image = "registry.example/team/model-server:2026.11";
const condition = (type: string) => {
  return { type, status: "True", reason: "Ready", message: "The endpoint serves requests", lastTransitionTime: time };
};

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

function* objects(): Generator<KubeObject> {
  for (let index = 0; index < COUNT; index++) yield JSON.parse(textOf(index));
}

function stored(): unknown {
  const store = createStore<KubeObject>({ uid: ({ metadata }) => [metadata.uid ?? ""] });
  for (const object of objects()) store.upsert(object);
  return store;
}

/** Bytes of each object of what `make` returns. */
function bytesOf(make: () => unknown): number {
  gc();
  const before = process.memoryUsage().heapUsed;
  const kept = make();
  gc();
  const bytes = (process.memoryUsage().heapUsed - before) / COUNT;
  if (kept === undefined) throw new Error("nothing was kept"); // it is alive until here
  return bytes;
}

// The first round compiles.
for (const make of [() => [...objects()], stored]) bytesOf(make);
parentPort?.postMessage({ alone: bytesOf(() => [...objects()]), stored: bytesOf(stored) });
