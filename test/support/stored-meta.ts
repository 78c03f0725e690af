import type { NamespacedObject } from "../../src/kube/types.ts";

/** Metadata as the API server stores it, of an object in namespace `team`; `change` replaces fields. */
export function storedMeta(
  change: { name: string } & Partial<NamespacedObject["metadata"]>,
): NamespacedObject["metadata"] {
  return {
    namespace: "team",
    uid: "aaaaaaaa-0000-0000-0000-000000000001",
    resourceVersion: "1",
    creationTimestamp: "2026-03-01T00:00:00Z",
    generation: 1,
    ...change,
  };
}
