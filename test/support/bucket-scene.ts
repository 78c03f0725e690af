import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll } from "vitest";
import { type S3Server, startVersitygw } from "../../tools/artifacts/versitygw.ts";
import { manifest } from "./manifests.ts";
import { createWorld, type World, waitForCondition } from "./world.ts";

/** A namespace with a SpeechJob `spoken` and a VideoJob `filmed` whose results are in a bucket. */
export type BucketScene = { world: World; s3: S3Server; uiArgs: string[] };

export const STORE = "bucket";
export const STORE_SECRET = "bucket-credentials";
const BUCKET = "results";

export const secretOf = ({ accessKeyId, secretAccessKey }: Pick<S3Server, "accessKeyId" | "secretAccessKey">) => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: STORE_SECRET },
  stringData: { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey },
});

export const storeSpec = ({ endpoint }: Pick<S3Server, "endpoint">) => ({
  s3: {
    endpoint,
    bucket: BUCKET,
    prefix: "team",
    forcePathStyle: true,
    credentialsSecretRef: { name: STORE_SECRET },
  },
});

/** Call it inside a hook. A real S3 server, a simulator and an operator, until the copies are complete. */
export async function createBucketScene(prefix: string): Promise<BucketScene> {
  const s3 = await startVersitygw();
  afterAll(() => s3.stop());
  await mkdir(join(s3.folder, BUCKET));
  // The URL of speech expires at once, that of video does not.
  const world = await createWorld(prefix, { simulator: { speechUrlSeconds: 1 } });
  await world.startOperator();
  await world.apply(secretOf(s3));
  await world.apply({ kind: "ArtifactStore", metadata: { name: STORE }, spec: storeSpec(s3) });
  await waitForCondition(world, "ArtifactStore", STORE, "Ready");
  const output = { storeRef: { name: STORE } };
  await world.apply(manifest("turbo", { text: "The ferry leaves in five minutes.", output }, "spoken"));
  await world.apply(manifest("image", { output }, "filmed"));
  await waitForCondition(world, "SpeechJob", "spoken", "Complete");
  await waitForCondition(world, "VideoJob", "filmed", "Complete");
  return { world, s3, uiArgs: [`--namespace=${world.namespace}`, "--allow-private-networks"] };
}
