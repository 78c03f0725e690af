import { randomBytes } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { JobResult } from "../../../src/api/v1alpha1/job.ts";
import { type S3Server, startVersitygw } from "../../../tools/artifacts/versitygw.ts";
import { manifest } from "../../support/manifests.ts";
import { createWorld, eventsOf, type Operator, type World, waitForCondition } from "../../support/world.ts";

/** A key that a URL cannot have as it is. */
const KEY = "in put/sea (1)+ü.png";
const storeRef = { name: "bucket" };

let s3: S3Server;
let client: S3Client;
let world: World;
let operator: Operator;

beforeAll(async () => {
  s3 = await startVersitygw();
  await mkdir(join(s3.folder, "media"));
  const { endpoint, accessKeyId, secretAccessKey } = s3;
  const credentials = { accessKeyId, secretAccessKey };
  client = new S3Client({ endpoint, region: "us-east-1", forcePathStyle: true, credentials });
  world = await createWorld("inputs");
  await world.apply({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "s3" },
    stringData: { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey },
  });
  const bucket = { endpoint, bucket: "media", prefix: "of team", forcePathStyle: true };
  const spec = { s3: { ...bucket, credentialsSecretRef: { name: "s3" } } };
  await world.apply({ kind: "ArtifactStore", metadata: storeRef, spec });
  operator = await world.startOperator();
});
afterAll(async () => {
  client?.destroy();
  await world?.close();
  await s3?.stop();
});

async function upload(key: string): Promise<Buffer> {
  const Body = randomBytes(100_000);
  await client.send(new PutObjectCommand({ Bucket: "media", Key: `of team/${key}`, Body }));
  return Body;
}

/** What the service gets when it fetches an input, without credentials. */
async function fetched(url: unknown): Promise<Buffer> {
  const response = await fetch(String(url));
  expect(response.status, await response.clone().text()).toBe(200);
  return Buffer.from(await response.arrayBuffer());
}

/** Neither the object, its events nor the log has the signature of a URL that the service got. */
async function expectSecret(name: string, url: unknown): Promise<void> {
  const signature = new URL(String(url)).searchParams.get("X-Amz-Signature") ?? "";
  expect(signature).toMatch(/^[0-9a-f]{64}$/);
  const shown = [await world.get("VideoJob", name), await eventsOf(world, "VideoJob", name), operator.log()];
  expect(JSON.stringify(shown)).not.toContain(signature);
}

it("the service fetches the image of a bucket that a VideoJob names, byte by byte, by a URL that nothing shows", async () => {
  const image = await upload(KEY);
  const imageToVideo = { imageURL: null, imageFrom: { object: { storeRef, key: KEY } } };
  await world.apply(manifest("image", { imageToVideo }, "sea"));
  await waitForCondition(world, "VideoJob", "sea", "Complete");
  const sent = await world.audit("submitImageToVideo");
  expect(sent).toHaveLength(1);
  const url = sent[0]?.body?.image_url;
  expect((await fetched(url)).equals(image)).toBe(true);
  expect((await fetch(String(url).split("?")[0] ?? "")).status).toBe(403);
  await expectSecret("sea", url);
});

it("the service fetches the audio of a bucket, and that of a finished job from its copy in a bucket", async () => {
  const song = await upload("song.mp3");
  await world.apply(manifest("hd", { text: "a source.", output: { storeRef } }, "words"));
  const inputs = {
    sung: { object: { storeRef, key: "song.mp3" } },
    spoken: { jobRef: { kind: "SpeechJob", name: "words" } },
  };
  for (const [name, audioFrom] of Object.entries(inputs)) {
    await world.apply(manifest("reference", { videoToVideo: { input: { prompt: name, audioFrom } } }, name));
  }
  for (const name of Object.keys(inputs)) await waitForCondition(world, "VideoJob", name, "Complete");
  const { status } = await waitForCondition(world, "SpeechJob", "words", "Complete");
  const [result] = (status?.["results"] ?? []) as JobResult[];
  const speech = await fetched(result?.url);

  const sent = (await world.audit("submitVideoToVideo")).map(({ body }) => body?.input as Record<string, unknown>);
  const urls = new Map(sent.map(({ prompt, audio_url }) => [prompt, audio_url]));
  expect([...urls.keys()].sort()).toEqual(["spoken", "sung"]);
  expect((await fetched(urls.get("sung"))).equals(song)).toBe(true);
  expect((await fetched(urls.get("spoken"))).equals(speech)).toBe(true);
  expect(urls.get("spoken")).not.toBe(result?.url);
  for (const name of Object.keys(inputs)) await expectSecret(name, urls.get(name));
});
