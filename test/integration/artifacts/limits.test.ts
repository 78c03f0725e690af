import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type S3Server, startVersitygw } from "../../../tools/artifacts/versitygw.ts";
import { manifest } from "../../support/manifests.ts";
import { condition, createWorld, eventsOf, eventually, type World, waitForCondition } from "../../support/world.ts";

let world: World;
let root: string;
let s3: S3Server;
beforeAll(async () => {
  s3 = await startVersitygw();
  await mkdir(join(s3.folder, "results"));
  root = await mkdtemp(join(tmpdir(), "mooring-limits-"));
  // The service speaks for 20 minutes, whatever the text is: 19 MB.
  world = await createWorld("limits", {
    simulator: {
      timeScale: 0.1,
      charactersPerSecond: 0.001,
      maxAudioSeconds: 1_200,
      streamChunkBytes: 100_000,
      streamChunkMs: 0,
    },
  });
  await world.startOperator({ args: [`--artifact-root=${root}`] });
  await world.apply({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "s3" },
    stringData: { AWS_ACCESS_KEY_ID: s3.accessKeyId, AWS_SECRET_ACCESS_KEY: s3.secretAccessKey },
  });
});
afterAll(async () => {
  await s3?.stop();
  await rm(root, { recursive: true, force: true });
});

/** Stores of both kinds with these limits. */
async function stores(name: string, limits: object): Promise<string[]> {
  const { endpoint } = s3;
  const bucket = {
    endpoint,
    bucket: "results",
    prefix: name,
    forcePathStyle: true,
    credentialsSecretRef: { name: "s3" },
  };
  await world.apply({ kind: "ArtifactStore", metadata: { name: `${name}-bucket` }, spec: { s3: bucket, ...limits } });
  await world.apply({
    kind: "ArtifactStore",
    metadata: { name: `${name}-disk` },
    spec: { volume: { path: name }, ...limits },
  });
  return [`${name}-bucket`, `${name}-disk`];
}
const outputTo = (name: string) => ({ output: { storeRef: { name } } });
/** All files of a name in the volume and in the bucket, hidden ones too. */
async function filesOf(name: string): Promise<string[]> {
  const found = await Promise.all(
    [root, join(s3.folder, "results")].map((folder) => readdir(folder, { recursive: true, withFileTypes: true })),
  );
  return found.flat().flatMap((one) => (one.isFile() && one.parentPath.includes(name) ? [one.name] : []));
}

it.concurrent.each([
  ["a stream", { stream: true }, "streamSpeech"],
  ["hex", { outputFormat: "hex" }, "synthesizeSpeech"],
])(
  "audio in %s that is longer than the text can make ends the job, and nothing of it stays",
  async (_, change, operation) => {
    const name = operation.toLowerCase();
    for (const store of await stores(name, {})) {
      await world.apply(manifest("turbo", { text: `Say ${store}`, ...change, ...outputTo(store) }, `${store}-job`));
      const failed = await waitForCondition(world, "SpeechJob", `${store}-job`, "Failed");
      expect(condition(failed, "Failed")).toMatchObject({
        reason: "ResultTooLarge",
        message: expect.stringMatching(
          /^The service sent more than \d+ bytes, the most that it can have: Mooring deleted the partial result/,
        ),
      });
      expect(failed.status).toMatchObject({ attempts: 1, submission: { state: "Accepted" } });
      expect(await filesOf(`${store}-job`)).toEqual([]);
      const calls = (await world.audit(operation)).filter(({ body }) => JSON.stringify(body).includes(`Say ${store}`));
      expect(calls).toHaveLength(1);
      await eventually("an event says so", async () =>
        (await eventsOf(world, "SpeechJob", `${store}-job`)).some((event) =>
          event.startsWith("Warning ResultTooLarge"),
        ),
      );
    }
  },
);

it.concurrent("a request whose audio may be larger than a job may store is not sent until the store takes more", async () => {
  for (const store of await stores("small", { maxBytesPerJob: "1Mi" })) {
    const job = `${store}-job`;
    const text = "x".repeat(2_000);
    await world.apply(manifest("turbo", { text, stream: true, ...outputTo(store) }, job));
    const stalled = await waitForCondition(world, "SpeechJob", job, "Stalled");
    expect(condition(stalled, "Stalled")).toMatchObject({
      reason: "ResultTooLarge",
      message: expect.stringMatching(
        /can have up to \d+ bytes, and spec.maxBytesPerJob of the ArtifactStore allows 1048576/,
      ),
    });
    expect((await world.audit("streamSpeech")).filter(({ body }) => body?.["text"] === text)).toEqual([]);
  }
});

it.concurrent("a result larger than a job may store stays at its URL, until the store takes more", async () => {
  for (const store of await stores("little", { maxBytesPerJob: "1Mi" })) {
    const job = `${store}-job`;
    await world.apply(manifest("hd", { text: "Say it at length", ...outputTo(store) }, job));
    const stalled = await waitForCondition(world, "SpeechJob", job, "Stalled");
    expect(stalled.status?.phase).toBe("Storing");
    expect(condition(stalled, "Stalled")).toMatchObject({
      reason: "ResultTooLarge",
      message: expect.stringMatching(
        /larger than 1048576 bytes, what is left of spec.maxBytesPerJob of the ArtifactStore: raise it$/,
      ),
    });
    expect(await filesOf(job)).toEqual([]);
    await world.patch("ArtifactStore", store, { spec: { maxBytesPerJob: "1Gi" } });
    const done = await waitForCondition(world, "SpeechJob", job, "Complete");
    expect(done.status?.["results"]).toMatchObject([{ artifact: { bytes: expect.any(Number) } }]);
  }
});

it.concurrent("a store that has reached its size takes no new job, and says so; what is paid for is still stored", async () => {
  for (const store of await stores("full", { maxBytesPerJob: "10Mi", maxBytes: "10Mi" })) {
    await world.patch("ArtifactStore", store, { spec: { maxBytesPerJob: "100Mi", maxBytes: "100Mi" } });
    await waitForCondition(world, "ArtifactStore", store, "Ready");
    await world.apply(manifest("hd", { text: "The first", ...outputTo(store) }, `${store}-first`));
    await waitForCondition(world, "SpeechJob", `${store}-first`, "Complete");
    await world.patch("ArtifactStore", store, { spec: { maxBytesPerJob: "10Mi", maxBytes: "10Mi" } });
    const full = await waitForCondition(world, "ArtifactStore", store, "Stalled");
    expect(condition(full, "Stalled")).toMatchObject({
      reason: "StoreFull",
      message: expect.stringMatching(/^the store has \d+ bytes or more, and spec.maxBytes allows 10485760/),
    });

    await world.apply(manifest("hd", { text: `Second ${store}`, ...outputTo(store) }, `${store}-second`));
    const waiting = await waitForCondition(world, "SpeechJob", `${store}-second`, "Stalled");
    expect(condition(waiting, "Stalled")?.reason).toBe("StoreFull");
    const sent = async () =>
      (await world.audit("submitSpeech")).filter(({ body }) => body?.["text"] === `Second ${store}`);
    expect(await sent()).toEqual([]);

    await world.patch("ArtifactStore", store, { spec: { maxBytes: "100Mi", maxBytesPerJob: "100Mi" } });
    await waitForCondition(world, "ArtifactStore", store, "Ready");
    await waitForCondition(world, "SpeechJob", `${store}-second`, "Complete");
    expect(await sent()).toHaveLength(1);
  }
});
