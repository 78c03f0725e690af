/**
 * Memory of an object in the informer's store, as the API server sends it and as it is kept.
 * Run: node --expose-gc bench/store-memory.ts SAMPLE.json   (kubectl get gpuendpoint NAME -o json --show-managed-fields)
 */
import { readFileSync } from "node:fs";
import type { KubeObject } from "../src/kube/types.ts";
import { compact, createStore } from "../src/runtime/store.ts";

const COUNT = 10_000;
const sample = readFileSync(process.argv[2] ?? "", "utf8");

function measure(prepare: (object: KubeObject) => KubeObject): number {
  const store = createStore<KubeObject>({ uid: (object) => [object.metadata.uid ?? ""] });
  globalThis.gc?.();
  const before = process.memoryUsage().heapUsed;
  for (let index = 0; index < COUNT; index++) {
    const object = JSON.parse(sample) as KubeObject;
    object.metadata = {
      ...object.metadata,
      name: `object-${index}`,
      uid: `uid-${index}`,
      resourceVersion: String(index),
    };
    store.upsert(prepare(object));
  }
  globalThis.gc?.();
  const bytes = (process.memoryUsage().heapUsed - before) / store.size();
  return Math.round(bytes);
}

console.log(`JSON text: ${sample.length} bytes`);
console.log(`as sent: ${measure((object) => object)} bytes an object`);
console.log(`compact: ${measure(compact)} bytes an object`);
