import { expect, it } from "vitest";
import { type ArtifactStore, artifactStoreSpecSchema } from "../../../../src/api/v1alpha1/artifact-store.ts";
import { locationOf, type StoreWiring, settingsOf } from "../../../../src/controllers/artifact-store/settings.ts";
import { readerWithout } from "../../../../src/controllers/references.ts";
import { storedMeta } from "../../../support/stored-meta.ts";

const withoutCredentials: ArtifactStore = {
  apiVersion: "mooring.dev/v1alpha1",
  kind: "ArtifactStore",
  metadata: storedMeta({ name: "results" }),
  spec: artifactStoreSpecSchema.parse({ s3: { bucket: "results", endpoint: "https://s3.example.com" } }),
};
const reader = readerWithout(new Error("nothing is read"));
const wiring = (allowAmbientCredentials: boolean): StoreWiring => ({
  artifactRoot: undefined,
  lookup: undefined,
  allowAmbientCredentials,
});

it("a store without credentials does not use the operator's own identity, unless its administrator allows it", async () => {
  await expect(settingsOf(withoutCredentials, reader, wiring(false))).rejects.toMatchObject({
    reason: "StoreDenied",
    message: expect.stringMatching(/^spec\.s3\.credentialsSecretRef is not set: .*--allow-ambient-credentials$/),
  });
  expect(await settingsOf(withoutCredentials, reader, wiring(true))).toMatchObject({
    kind: "s3",
    s3: { credentials: undefined, endpoint: "https://s3.example.com" },
  });
});

it.each([
  { what: "a bucket", spec: { s3: { bucket: "results", prefix: "films/2026" } }, location: "s3://results/films/2026" },
  { what: "a folder", spec: { volume: { path: "results" } }, location: "file:///data/results" },
  {
    what: "a prefix with control and formatting characters",
    spec: { s3: { bucket: "results", prefix: "a\u0007\u202eb" } },
    location: "s3://results/ab",
  },
])("$what: status.location is one line of plain characters", ({ spec, location }) => {
  expect(locationOf(artifactStoreSpecSchema.parse(spec), "/data")).toBe(location);
});

it("status.location is as long as its schema allows", () => {
  const { maxBytesPerJob } = artifactStoreSpecSchema.parse({ volume: { path: "a" } });
  const location = locationOf({ maxBytesPerJob, volume: { path: "\u202e".repeat(512) } }, "/data");
  expect(location).toHaveLength(4096);
});
