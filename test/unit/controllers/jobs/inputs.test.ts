import { describe, expect, it } from "vitest";
import type { JobResult } from "../../../../src/api/v1alpha1/job.ts";
import type { SpeechJob } from "../../../../src/api/v1alpha1/speech-job.ts";
import type { JobRef, VideoJob } from "../../../../src/api/v1alpha1/video-job.ts";
import { ArtifactError } from "../../../../src/artifacts/errors.ts";
import type { ArtifactStoreHandle } from "../../../../src/artifacts/types.ts";
import { createStoreRegistry } from "../../../../src/controllers/artifact-store/registry.ts";
import { videoRequest } from "../../../../src/controllers/jobs/requests/video.ts";
import { showMissingReference } from "../../../../src/controllers/jobs/steps.ts";
import type { Job } from "../../../../src/controllers/jobs/types.ts";
import { createValueReader } from "../../../../src/controllers/references.ts";
import type { KubeClient } from "../../../../src/kube/client.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { speechJobOf, videoJobOf } from "../../../support/jobs.ts";
import { accountAt } from "../../../support/service-account.ts";

const NOW = Date.parse("2026-03-01T00:00:00Z");
const { signal } = new AbortController();

/** A bucket that signs each URL anew. `volume`: a store whose objects have no URLs. */
function bucketOf(files: Record<string, string>, volume = false): ArtifactStoreHandle {
  let signed = 0;
  return {
    async link(key: string) {
      if (volume) return undefined;
      const version = files[key];
      if (version === undefined) throw new ArtifactError("NotFound", `${key} does not exist`);
      const url = async () => `https://s3.example.com/${key}?X-Amz-Signature=${++signed}`;
      return { uri: `s3://bucket/${key}`, version, url };
    },
  } as unknown as ArtifactStoreHandle;
}

type World = { jobs?: Job[]; files?: Record<string, string>; volume?: boolean };

function readerOf({ jobs = [], files = {}, volume = false }: World) {
  const stores = createStoreRegistry((key) => key === "team/media");
  stores.set("team/media", { state: { kind: "Ready" }, handle: bucketOf(files, volume) });
  const find = (namespace: string, { kind, name }: JobRef) =>
    jobs.find((job) => job.kind === kind && job.metadata.namespace === namespace && job.metadata.name === name);
  const sources = { find, takers: () => [], now: () => NOW };
  return createValueReader({} as KubeClient, signal, { stores, jobs: sources });
}

const named = <T extends Job>(job: T, name: string): T => ({ ...job, metadata: { ...job.metadata, name, uid: name } });
const filmFrom = (audioFrom: object, name = "film"): VideoJob =>
  named(videoJobOf("reference", { videoToVideo: { input: { audioURL: null, audioFrom } } }), name);
const of = (name: string, kind: JobRef["kind"] = "SpeechJob") => ({ jobRef: { kind, name } });
const speech = (status: Partial<NonNullable<SpeechJob["status"]>>, output = false): SpeechJob =>
  named(
    speechJobOf("hd", output ? { output: { storeRef: { name: "media" }, name: "words" } } : {}, {
      conditions: [],
      ...status,
    }),
    "words",
  );
const audio: JobResult = {
  kind: "Audio",
  url: "https://files.example.com/a.mp3",
  type: "mp3",
  expiresAt: "2026-03-01T12:00:00Z",
};
const stored: JobResult = { ...audio, artifact: { uri: "s3://bucket/words.mp3", bytes: 4, sha256: "00" } };
const ended = (results: JobResult[]) => ({ phase: "Succeeded", taskID: "task-1", results }) as const;

/** What the service receives, and what no message may show. */
async function sent(job: VideoJob, world: World) {
  const request = await videoRequest(job, readerOf(world));
  const calls: { body: object; hidden: readonly string[] }[] = [];
  const call = async (body: object, { hidden = [] }: { hidden?: readonly string[] | undefined }) => {
    calls.push({ body, hidden });
    return { taskID: "task-2" };
  };
  const session = { ...accountAt("http://127.0.0.1:1"), video: { imageToVideo: call, videoToVideo: call } };
  const clock = createFakeClock();
  await request.send({ session, options: {}, clock, openArtifact: undefined, progress: { firstAudio() {} } });
  const [{ body, hidden } = { body: {}, hidden: [] }] = calls;
  return { identity: request.body, body, hidden };
}

const film = filmFrom(of("words"));

describe("an input of a VideoJob", () => {
  it("that is an object of a bucket is a URL signed for this request, and its content for the hash of the request", async () => {
    const imageFrom = { object: { storeRef: { name: "media" }, key: "sea.png" } };
    const job = videoJobOf("image", { imageToVideo: { imageURL: null, imageFrom } });
    const { identity, body, hidden } = await sent(job, { files: { "sea.png": "etag-1" } });
    const url = "https://s3.example.com/sea.png?X-Amz-Signature=1";
    expect(body).toEqual({ prompt: "Waves", imageURL: url });
    expect(hidden).toEqual([url]);
    expect(identity).toEqual({ prompt: "Waves", imageFrom: { uri: "s3://bucket/sea.png", version: "etag-1" } });
    const later = await sent(job, { files: { "sea.png": "etag-2" } });
    expect(later.identity).not.toEqual(identity);
  });

  it("that is the result of a job is the URL of that job, and its task for the hash of the request", async () => {
    const { identity, body } = await sent(film, { jobs: [speech(ended([audio]))] });
    expect(body).toMatchObject({ input: { audioURL: audio.url } });
    expect(JSON.stringify(body)).not.toContain("audioFrom");
    expect(identity).toMatchObject({ input: { audioFrom: { task: "task-1", result: 0 } } });
    expect(JSON.stringify(identity)).not.toContain(audio.url);
  });

  it("is the copy in a bucket, also when the URL of the service has expired", async () => {
    const expired = { ...stored, expiresAt: "2026-02-01T00:00:00Z" };
    const world = { jobs: [speech(ended([expired]), true)], files: { "words.mp3": "etag" } };
    const { identity, body } = await sent(film, world);
    expect(body).toMatchObject({ input: { audioURL: expect.stringContaining("https://s3.example.com/words.mp3?") } });
    expect(identity).toMatchObject({ input: { audioFrom: { uri: "s3://bucket/words.mp3", version: "etag" } } });
  });

  it("is the copy of the job whose results were reused", async () => {
    const reused = { from: "SpeechJob team/first", time: "2026-01-01T00:00:00Z", keys: ["first.mp3"] };
    const world = { jobs: [speech({ ...ended([stored]), reused }, true)], files: { "first.mp3": "etag" } };
    expect((await sent(film, world)).identity).toMatchObject({
      input: { audioFrom: { uri: "s3://bucket/first.mp3" } },
    });
  });

  it.each([
    ["the store of the copy is a volume", { volume: true }],
    ["the copy is not there", { files: {} }],
  ])("is the URL of the service while it is valid, when %s", async (_, world) => {
    const { body } = await sent(film, { jobs: [speech(ended([stored]), true)], ...world });
    expect(body).toMatchObject({ input: { audioURL: audio.url } });
  });

  it("is the audio of a VideoJob, or without one its video", async () => {
    const video: JobResult = { kind: "Video", url: "https://files.example.com/v.mp4", type: "mp4" };
    const first = (results: JobResult[]) => ({
      jobs: [named(videoJobOf("image", {}, { conditions: [], ...ended(results) }), "first")],
    });
    const job = filmFrom(of("first", "VideoJob"));
    expect((await sent(job, first([video]))).body).toMatchObject({ input: { audioURL: video.url } });
    expect((await sent(job, first([video, audio]))).body).toMatchObject({ input: { audioURL: audio.url } });
  });
});

describe("a VideoJob sends nothing", () => {
  const failure = { type: "Failed", status: "True", reason: "NoResult", message: "no sound" } as const;
  const condition = { ...failure, lastTransitionTime: "2026-01-01T00:00:00Z" };
  const bucketObject = { object: { storeRef: { name: "media" }, key: "a.mp3" } };
  const elsewhere = { ...speech(ended([audio])), metadata: { ...film.metadata, name: "words", namespace: "other" } };

  it.each<[string, VideoJob, World, string, RegExp]>([
    [
      "while its source has not ended",
      film,
      { jobs: [speech({ phase: "Running" })] },
      "WaitingForSource",
      /SpeechJob team\/words, which is Running$/,
    ],
    [
      "while the result of its source is being copied",
      film,
      { jobs: [speech({ ...ended([audio]), phase: "Storing" })] },
      "WaitingForSource",
      /which is Storing$/,
    ],
    ["while its source is new", film, { jobs: [speech({})] }, "WaitingForSource", /which is Pending$/],
    ["without its source", film, {}, "SourceNotFound", /^SpeechJob team\/words does not exist: create it$/],
    ["with a source in another namespace", film, { jobs: [elsewhere] }, "SourceNotFound", /SpeechJob team\/words/],
    [
      "when its source has failed",
      film,
      { jobs: [speech({ phase: "Failed", conditions: [condition] })] },
      "SourceFailed",
      /team\/words has failed: no sound: delete/,
    ],
    [
      "when its source has no sound",
      film,
      { jobs: [speech(ended([{ kind: "Image", url: "https://a.b/c" }]))] },
      "SourceFailed",
      /neither an audio nor a video/,
    ],
    [
      "when the URL of its source has expired",
      film,
      { jobs: [speech(ended([{ ...audio, expiresAt: "2026-02-28T00:00:00Z" }]))] },
      "SourceFailed",
      /expired at 2026-02-28T00:00:00Z, and no copy of it is in a store: delete/,
    ],
    [
      "when neither the URL nor the copy is there",
      film,
      { jobs: [speech(ended([{ ...stored, expiresAt: "2026-02-28T00:00:00Z" }]), true)] },
      "SourceFailed",
      /expired at .*, and words.mp3 of ArtifactStore team\/media does not exist/,
    ],
    [
      "without the object",
      filmFrom(bucketObject),
      {},
      "ObjectNotFound",
      /a.mp3 of ArtifactStore team\/media does not exist: upload it/,
    ],
    [
      "when the store is a volume",
      filmFrom(bucketObject),
      { volume: true },
      "InvalidSpec",
      /has no URL for the service/,
    ],
  ])("%s", async (_, job, world, reason, message) => {
    await expect(videoRequest(job, readerOf(world))).rejects.toMatchObject({
      name: "StalledError",
      reason,
      message: expect.stringMatching(message),
    });
  });

  const link = (name: string, to: string) => filmFrom(of(to, "VideoJob"), name);
  it.each<[string, VideoJob[], string]>([
    ["itself", [link("a", "a")], "VideoJob team/a -> VideoJob team/a"],
    [
      "a job that waits for it",
      [link("a", "b"), link("b", "a")],
      "VideoJob team/a -> VideoJob team/b -> VideoJob team/a",
    ],
    [
      "a longer circle",
      [link("a", "b"), link("b", "c"), link("c", "a")],
      "VideoJob team/a -> VideoJob team/b -> VideoJob team/c -> VideoJob team/a",
    ],
    [
      "a circle that it is not part of",
      [link("a", "b"), link("b", "c"), link("c", "b")],
      "VideoJob team/a -> VideoJob team/b -> VideoJob team/c -> VideoJob team/b",
    ],
  ])("that waits for %s, and shows the path", async (_, jobs, path) => {
    const [first] = jobs;
    if (first === undefined) throw new Error("no job");
    await expect(videoRequest(first, readerOf({ jobs }))).rejects.toMatchObject({
      reason: "SourceCycle",
      message: expect.stringContaining(`${path}: delete one`),
    });
  });

  it("and is not stuck while its source goes on", () => {
    const shown = (reason: "WaitingForSource" | "SourceFailed") =>
      showMissingReference({ kind: "MissingReference", reason, message: "m", references: [] });
    expect(shown("WaitingForSource")).toMatchObject({ outcome: { stalled: false }, againMs: 30_000 });
    expect(shown("SourceFailed")).toMatchObject({ outcome: { stalled: true }, againMs: 30_000 });
  });
});
