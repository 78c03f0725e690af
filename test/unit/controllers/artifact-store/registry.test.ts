import { expect, it } from "vitest";
import type { ArtifactStoreHandle } from "../../../../src/artifacts/types.ts";
import { createStoreRegistry, storeKey } from "../../../../src/controllers/artifact-store/registry.ts";

const handle = { dispose: async () => {} } as ArtifactStoreHandle;

it("resolves what exists and is ready, and says why not otherwise", () => {
  const existing = new Set(["film/results"]);
  const stores = createStoreRegistry((key) => existing.has(key));
  const resolve = () => stores.resolve("film", { name: "results" });

  expect(resolve()).toEqual({ kind: "Checking" });
  expect(stores.resolve("other", { name: "results" })).toMatchObject({
    kind: "Held",
    reason: "StoreNotReady",
    message: expect.stringContaining("ArtifactStore other/results does not exist: create it"),
  });
  stores.set("film/results", { state: { kind: "Ready" }, handle });
  expect(resolve()).toEqual({ kind: "Usable", store: handle });
  stores.set("film/results", { state: { kind: "Held", reason: "Unreachable", message: "no answer" }, handle });
  expect(resolve()).toEqual({
    kind: "Held",
    reason: "StoreNotReady",
    message: "ArtifactStore film/results is not ready: no answer",
  });
  existing.clear();
  expect(resolve()).toMatchObject({ kind: "Held", message: expect.stringContaining("does not exist") });
});

it("reports changes only", () => {
  const stores = createStoreRegistry(() => true);
  const told: string[] = [];
  stores.onChange((key) => told.push(key));
  const key = storeKey("film", "results");

  stores.set(key, { state: { kind: "Ready" }, handle });
  stores.set(key, { state: { kind: "Ready" }, handle });
  expect(told).toEqual([key]);
  stores.set(key, { state: { kind: "Held", reason: "Unreachable", message: "a" }, handle });
  stores.set(key, { state: { kind: "Held", reason: "Unreachable", message: "b" }, handle });
  stores.set(key, { state: { kind: "Held", reason: "Unreachable", message: "b" }, handle });
  expect(told).toHaveLength(3);
  expect(stores.remove(key)?.handle).toBe(handle);
  expect(stores.remove(key)).toBeUndefined();
  expect(told).toHaveLength(4);
});
