import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type S3Server, startVersitygw } from "../../../tools/artifacts/versitygw.ts";
import { condition, createWorld, eventsOf, eventually, type World, waitForCondition } from "../../support/world.ts";

let s3: S3Server;
beforeAll(async () => {
  s3 = await startVersitygw();
  await mkdir(join(s3.folder, "results"));
});
afterAll(() => s3?.stop());

const secret = (name: string, secretAccessKey = s3.secretAccessKey) => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name },
  stringData: { AWS_ACCESS_KEY_ID: s3.accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey },
});
const bucket = (name: string, secretName: string, change: Record<string, unknown> = {}) => ({
  kind: "ArtifactStore",
  metadata: { name },
  spec: {
    s3: {
      endpoint: s3.endpoint,
      bucket: "results",
      forcePathStyle: true,
      credentialsSecretRef: { name: secretName },
      ...change,
    },
  },
});

/** Waits for a reason of Ready, and gives its message and whether the store is Stalled. */
async function becomes(world: World, name: string, reason: string) {
  const store = await eventually(`ArtifactStore ${name} is ${reason}`, async () => {
    const found = await world.get("ArtifactStore", name);
    return condition(found, "Ready")?.reason === reason && found;
  });
  const { message = "", observedGeneration } = condition(store, "Ready") ?? {};
  expect(observedGeneration).toBe(store.metadata.generation);
  return { message, stalled: condition(store, "Stalled")?.status === "True", status: store.status };
}

it.concurrent("a store says whether it works, and why not, and mends itself when the cause is mended", async () => {
  const world = await createWorld("stores");
  await world.apply(secret("right"));
  await world.apply(secret("wrong", "wrong-secret"));
  await world.apply(bucket("works", "right", { prefix: "2026/films" }));
  await world.apply(bucket("denied", "wrong"));
  await world.apply(bucket("no-bucket", "right", { bucket: "nowhere" }));
  await world.apply(bucket("no-secret", "missing"));
  await world.apply(bucket("nobody", "right", { endpoint: "http://127.0.0.1:9" }));
  await world.apply({ kind: "ArtifactStore", metadata: { name: "no-root" }, spec: { volume: { path: "a" } } });
  const operator = await world.startOperator();

  const works = await becomes(world, "works", "Ready");
  expect(works.status).toMatchObject({ location: "s3://results/2026/films" });
  expect(await becomes(world, "denied", "StoreDenied")).toMatchObject({
    stalled: true,
    message: expect.stringContaining("correct AWS_SECRET_ACCESS_KEY in the Secret"),
  });
  expect(await becomes(world, "no-bucket", "BucketNotFound")).toMatchObject({
    stalled: true,
    message: expect.stringMatching(/^s3:\/\/nowhere\/.*create it, or correct spec\.s3\.bucket/),
  });
  await waitForCondition(world, "ArtifactStore", "no-secret", "Stalled");
  expect(await becomes(world, "no-secret", "SecretNotFound")).toMatchObject({ stalled: true });
  expect(await becomes(world, "nobody", "Unreachable")).toMatchObject({ stalled: false });
  expect(await becomes(world, "no-root", "VolumeNotAvailable")).toMatchObject({
    stalled: true,
    message: expect.stringContaining("--artifact-root"),
  });

  await world.apply(secret("missing"));
  await world.patch("Secret", "wrong", { stringData: { AWS_SECRET_ACCESS_KEY: s3.secretAccessKey } });
  await mkdir(join(s3.folder, "nowhere"));
  for (const name of ["no-secret", "denied", "no-bucket"]) {
    const { status } = await becomes(world, name, "Ready");
    expect(status?.conditions).toHaveLength(1);
  }
  const events = await eventually("the last event is there", async () => {
    const found = await eventsOf(world, "ArtifactStore", "denied");
    return found.length >= 2 && found.sort();
  });
  expect(events).toEqual([
    "Normal Ready: A test object was written, read back and removed",
    expect.stringMatching(/^Warning StoreDenied: s3:.*[^.]: correct AWS_SECRET_ACCESS_KEY in the Secret$/),
  ]);
  const left = await readdir(join(s3.folder, "results"), { recursive: true, withFileTypes: true });
  expect(left.filter((one) => one.isFile() && !one.parentPath.includes(".sgwtmp"))).toEqual([]);
  expect(operator.log()).not.toContain(s3.secretAccessKey);
  expect(operator.log()).not.toContain("wrong-secret");
});

it.concurrent("without --allow-private-networks a store at a private address is refused; a volume under --artifact-root works", async () => {
  const world = await createWorld("guarded-stores");
  const root = await mkdtemp(join(tmpdir(), "mooring-artifacts-"));
  try {
    await world.apply(secret("right"));
    await world.apply(bucket("private", "right"));
    await world.apply({
      kind: "ArtifactStore",
      metadata: { name: "volume" },
      spec: { volume: { path: "team/films" } },
    });
    await world.startOperator({ args: ["--allow-private-networks=false", `--artifact-root=${root}`] });
    expect(await becomes(world, "private", "AddressNotAllowed")).toMatchObject({ stalled: true });
    const volume = await waitForCondition(world, "ArtifactStore", "volume", "Ready");
    expect(volume.status).toMatchObject({ location: `file://${root}/team/films` });
    expect(await readdir(join(root, "team/films"))).toEqual([]);
  } finally {
    await rm(root, { recursive: true, force: true });
  }
});
