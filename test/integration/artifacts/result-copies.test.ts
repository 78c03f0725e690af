import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { JobResult } from "../../../src/api/job.ts";
import { manifest } from "../../support/manifests.ts";
import { type S3Server, startVersitygw, VERSITYGW_BUILD_MS } from "../../support/versitygw.ts";
import { closeWorldsAfterAll, disposableWorld, waitForCondition } from "../../support/world.ts";

closeWorldsAfterAll();

let s3: S3Server;
let root: string;
beforeAll(async () => {
  s3 = await startVersitygw();
  await mkdir(join(s3.folder, "results"));
  root = await mkdtemp(join(tmpdir(), "mooring-artifacts-"));
}, VERSITYGW_BUILD_MS);
afterAll(async () => {
  await s3?.stop();
  await rm(root, { recursive: true, force: true });
});

it("a video's result is the same at the service, in a bucket and on a volume", async () => {
  const world = await disposableWorld("output");
  await world.apply({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "s3" },
    stringData: { AWS_ACCESS_KEY_ID: s3.accessKeyId, AWS_SECRET_ACCESS_KEY: s3.secretAccessKey },
  });
  const bucket = { endpoint: s3.endpoint, bucket: "results", prefix: "kept", forcePathStyle: true };
  await world.apply({
    kind: "ArtifactStore",
    metadata: { name: "bucket" },
    spec: { s3: { ...bucket, credentialsSecretRef: { name: "s3" } } },
  });
  await world.apply({ kind: "ArtifactStore", metadata: { name: "disk" }, spec: { volume: { path: "films" } } });
  for (const name of ["bucket", "disk"]) {
    await world.apply(manifest("image", { output: { storeRef: { name }, prefix: "2026" } }, `on-${name}`));
  }
  await world.startOperator({ args: [`--artifact-root=${root}`] });

  for (const name of ["bucket", "disk"]) {
    const job = await waitForCondition(world, "VideoJob", `on-${name}`, "Complete");
    const [result] = (job.status?.["results"] ?? []) as JobResult[];
    const source = Buffer.from(await (await fetch(result?.url ?? "")).arrayBuffer());
    const key = `2026/${world.namespace}/VideoJob/on-${name}/${job.metadata.uid}/0.mp4`;
    const path = name === "bucket" ? join(s3.folder, "results/kept", key) : join(root, "films", key);
    expect(result?.artifact).toEqual({
      uri: name === "bucket" ? `s3://results/kept/${key}` : `file://${path}`,
      bytes: source.length,
      sha256: createHash("sha256").update(source).digest("hex"),
    });
    expect((await readFile(path)).equals(source)).toBe(true);
  }
});
