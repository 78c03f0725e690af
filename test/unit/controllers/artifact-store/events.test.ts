import { expect, it } from "vitest";
import { type ArtifactStore, artifactStoreSpecSchema } from "../../../../src/api/v1alpha1/artifact-store.ts";
import { announce } from "../../../../src/controllers/artifact-store/controller.ts";
import { artifactStoreStatus } from "../../../../src/controllers/artifact-store/status.ts";
import { START } from "../../../support/fake-clock.ts";
import { manifest } from "../../../support/manifests.ts";
import { storedMeta } from "../../../support/stored-meta.ts";

it("a store has one event for each reason: a full one grows, and a new one waits for its Secret first", () => {
  const events: string[] = [];
  const recorder = {
    normal: (_object: unknown, reason: string) => void events.push(reason),
    warning: (_object: unknown, reason: string) => void events.push(reason),
  };
  let store: ArtifactStore = {
    metadata: storedMeta({ name: "results" }),
    spec: artifactStoreSpecSchema.parse(manifest("s3Store").spec),
  };
  const observe = (verdict: Parameters<typeof announce>[2], now = START) => {
    const status = artifactStoreStatus(store, verdict, { location: "s3://results", handledRequest: undefined }, now);
    announce(recorder, store, verdict, status);
    store = { ...store, status };
    return events.splice(0);
  };
  const missing = { kind: "Stalled", reason: "SecretNotFound", message: "create it" } as const;
  const full = (bytes: number) => ({ kind: "Stalled", reason: "StoreFull", message: `${bytes} bytes` }) as const;
  expect(observe(missing)).toEqual([]);
  expect(observe(missing, START + 15_000)).toEqual(["SecretNotFound"]);
  expect(observe({ kind: "Done" })).toEqual(["Ready"]);
  expect(observe({ kind: "Done" })).toEqual([]);
  expect([observe(full(1)), observe(full(2))]).toEqual([["StoreFull"], []]);
});
