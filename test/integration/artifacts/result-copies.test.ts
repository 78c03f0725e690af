import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { JobResult } from "../../../src/api/v1alpha1/job.ts";
import { startFileServer } from "../../../tools/artifacts/file-server.ts";
import { type S3Server, startVersitygw } from "../../../tools/artifacts/versitygw.ts";
import { manifest } from "../../support/manifests.ts";
import { condition, createWorld, eventually, waitForCondition } from "../../support/world.ts";

let s3: S3Server;
let root: string;
beforeAll(async () => {
  s3 = await startVersitygw();
  await mkdir(join(s3.folder, "results"));
  root = await mkdtemp(join(tmpdir(), "mooring-artifacts-"));
});
afterAll(async () => {
  await s3?.stop();
  await rm(root, { recursive: true, force: true });
});

it.concurrent("a video's result is the same at the service, in a bucket and on a volume", async () => {
  const world = await createWorld("output");
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

it.concurrent("a namespaced Account's results are not fetched from private addresses, unless --allow-private-networks", async () => {
  const source = await startFileServer();
  try {
    const world = await createWorld("guarded");
    source.files.set("/film", { bytes: 1_000, status: 503 });
    const video = { video_url: `${source.url}/film`, video_url_ttl: "3600", video_type: "mp4" };
    const body = { task: { status: "TASK_STATUS_SUCCEED" }, videos: [video] };
    await world.control("POST", "/__faults", {
      operation: "getTaskResult",
      kind: "status",
      status: 200,
      probability: 1,
      body,
    });
    await world.apply({ kind: "ArtifactStore", metadata: { name: "disk" }, spec: { volume: { path: "guarded" } } });
    await world.apply(manifest("image", { output: { storeRef: { name: "disk" } } }, "film"));
    const open = await world.startOperator({ args: [`--artifact-root=${root}`] });
    const storing = async () => (await world.get("VideoJob", "film")).status?.phase === "Storing";
    await eventually("the result is known", storing);
    await open.kill();

    source.files.set("/film", { bytes: 1_000 });
    source.seen.length = 0;
    const guarded = await world.startOperator({
      args: [`--artifact-root=${root}`, "--allow-private-networks=false"],
    });
    const stalled = await waitForCondition(world, "VideoJob", "film", "Stalled");
    expect(condition(stalled, "Stalled")).toMatchObject({
      reason: "AddressNotAllowed",
      message: expect.stringContaining("127.0.0.1"),
    });
    expect(source.seen).toEqual([]);
    await guarded.kill();

    await world.startOperator({ args: [`--artifact-root=${root}`] });
    await waitForCondition(world, "VideoJob", "film", "Complete");
    // The service's key stays with the service.
    for (const { headers } of source.seen) expect(headers).not.toHaveProperty("authorization");
  } finally {
    await source.close();
  }
});
