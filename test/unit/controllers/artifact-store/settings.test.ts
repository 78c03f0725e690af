import { expect, it } from "vitest";
import { type ArtifactStore, artifactStoreSpecSchema } from "../../../../src/api/v1alpha1/artifact-store.ts";
import { type StoreWiring, settingsOf } from "../../../../src/controllers/artifact-store/settings.ts";
import type { ValueReader } from "../../../../src/controllers/references.ts";
import { storedMeta } from "../../../support/stored-meta.ts";

const withoutCredentials: ArtifactStore = {
  apiVersion: "mooring.dev/v1alpha1",
  kind: "ArtifactStore",
  metadata: storedMeta({ name: "results" }),
  spec: artifactStoreSpecSchema.parse({ s3: { bucket: "results", endpoint: "https://s3.example.com" } }),
};
const reader: ValueReader = {
  secretKey: () => Promise.reject(new Error("no Secret is read")),
  secretVersion: () => Promise.reject(new Error("no Secret is read")),
  configMapKey: () => Promise.reject(new Error("no ConfigMap is read")),
};
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
