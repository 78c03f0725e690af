import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type FileServer, sha256Of, startFileServer } from "../../../tools/artifacts/file-server.ts";
import { succeededTask } from "../../support/jobs.ts";
import { manifest } from "../../support/manifests.ts";
import { type AnyObject, condition } from "../../support/world.ts";
import { createStage, type Stage, waitForCondition } from "../stage/stage.ts";

let world: Stage;
let root: string;
let source: FileServer;
const store = (name: string) => ({ kind: "ArtifactStore", metadata: { name }, spec: { volume: { path: name } } });
const output = { storeRef: { name: "results" }, prefix: "films" };

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "mooring-output-"));
  source = await startFileServer();
  world = await createStage({ artifactRoot: root, simulator: { timeScale: 0.1 } });
  world.start();
  await world.apply(store("results"));
  await waitForCondition(world, "ArtifactStore", "results", "Ready");
});
afterAll(async () => {
  await world.end();
  await source.close();
  await rm(root, { recursive: true, force: true });
});

type Result = { kind: string; url?: string; type: string; artifact?: { uri: string; bytes: number; sha256: string } };
const firstOf = ({ status = {} }: AnyObject): Result => (status["results"] as Result[])[0] as Result;
/** Every file of the job in the store, hidden ones too. */
async function filesOf(name: string): Promise<string[]> {
  const all = await readdir(root, { recursive: true, withFileTypes: true });
  return all.filter((one) => one.isFile() && one.parentPath.includes(`/${name}/`)).map((one) => one.name);
}
/** The file server has these bytes, and so has the store. */
async function expectStored(job: AnyObject, bytes: number): Promise<void> {
  expect(firstOf(job).artifact).toMatchObject({ bytes, sha256: sha256Of(bytes) });
  expect(condition(job, "ResultsAvailable")).toMatchObject({ status: "True", reason: "Stored" });
  expect(await filesOf(job.metadata.name)).toEqual([`0.${firstOf(job).type}`]);
}
const calls = async (operation: string, text: string) =>
  (await world.audit(operation)).filter(({ body }) => JSON.stringify(body).includes(text));
const complete = (kind: string, name: string) => waitForCondition(world, kind, name, "Complete");
/** Events as TYPE REASON: NOTE. */
const eventsOf = (name: string) =>
  [...world.storage.collection("events.events.k8s.io").objects.values()]
    .filter((event) => Reflect.get(Object(event["regarding"]), "name") === name)
    .map(({ type, reason, note }) => `${type} ${reason}: ${note}`);

describe("a task's results", () => {
  /** A job whose task has succeeded with what the file server has under its name. */
  async function withSource(name: string, ttl = "3600") {
    await world.control("POST", "/__faults", succeededTask(name, `${source.url}/${name}`, ttl));
    await world.apply(manifest("image", { imageToVideo: { prompt: name }, output, backoffLimit: 3 }, name));
  }

  it("whose URL is refused are copied from the URL that the task has now", async () => {
    source.files.set("/former", { bytes: 1, status: 403 });
    source.files.set("/fresh", { bytes: 70_000, etag: '"1"' });
    const first = {
      task: { status: "TASK_STATUS_SUCCEED" },
      videos: [{ video_url: `${source.url}/former`, video_url_ttl: "3600", video_type: "mp4" }],
    };
    const match = "task-fresh";
    await world.control("POST", "/__faults", {
      operation: "getTaskResult",
      match,
      kind: "status",
      status: 200,
      times: 1,
      body: first,
    });
    await withSource("fresh");
    const done = await complete("VideoJob", "fresh");
    expect(firstOf(done).url).toBe(`${source.url}/fresh`);
    await expectStored(done, 70_000);
    expect(await calls("submitImageToVideo", "fresh")).toHaveLength(1);
  });

  it.each([
    ["refused", "ResultUnavailable", { bytes: 1, status: 403 }, /HTTP 403: the URL has expired or was never good$/],
    ["file", "AddressNotAllowed", { bytes: 1, redirect: "file:///etc/passwd" }, /must be http or https, not file:$/],
  ])("that cannot be fetched for good stall the job, in words: %s", async (name, reason, file, words) => {
    source.files.set(`/${name}`, file);
    await withSource(name);
    const stalled = await waitForCondition(world, "VideoJob", name, "Stalled");
    expect(condition(stalled, "Stalled")).toMatchObject({ reason, message: expect.stringMatching(words) });
    expect(condition(stalled, "Ready")).toMatchObject({ status: "False", reason });
    expect(stalled.status?.phase).toBe("Storing");
    await world.eventually("an event says so", async () =>
      eventsOf(name).some((event) => event.startsWith(`Warning ${reason}: result 0 is not`)),
    );
    // What was mended is found without anybody's doing.
    source.files.set(`/${name}`, { bytes: 1_000 });
    await expectStored(await complete("VideoJob", name), 1_000);
  });

  it("whose URL ran out before they were copied stall the job until the task shows one that works", async () => {
    source.files.set("/lost", { bytes: 1, status: 403 });
    await withSource("lost", "6");
    const stalled = await world.eventually("the URL has expired", async () => {
      const found = await waitForCondition(world, "VideoJob", "lost", "Stalled");
      return Date.parse(String(found.status?.resultsExpireAt)) + 3_000 < world.service.now() && found;
    });
    expect(condition(stalled, "Stalled")?.reason).toBe("ResultUnavailable");
    expect(stalled.status?.phase).toBe("Storing");
    source.files.set("/lost", { bytes: 1_000 });
    await expectStored(await complete("VideoJob", "lost"), 1_000);
    expect(await calls("submitImageToVideo", "lost")).toHaveLength(1);
    await world.eventually(
      "it has no finalizer",
      async () => ((await world.get("VideoJob", "lost")).metadata.finalizers ?? []).length === 0,
    );
  });

  it("of a job that is deleted meanwhile do not hold it when they cannot be copied", async () => {
    source.files.set("/unwanted", { bytes: 10, status: 503 });
    await withSource("unwanted");
    await world.eventually(
      "it is stored",
      async () => (await world.get("VideoJob", "unwanted")).status?.["phase"] === "Storing",
    );
    await world.remove("VideoJob", "unwanted");
    await world.eventually("it is gone", async () =>
      (await world.list("VideoJob")).every(({ metadata }) => metadata.name !== "unwanted"),
    );
    expect(await filesOf("unwanted")).toEqual([]);
  });
});

it("nothing is paid before there is a store to put it in", async () => {
  const later = { output: { storeRef: { name: "later" } }, text: "a store that comes" };
  await world.apply(manifest("turbo", { ...later, outputFormat: "hex" }, "later"));
  const stalled = await waitForCondition(world, "SpeechJob", "later", "Stalled");
  expect(condition(stalled, "Stalled")?.reason).toBe("StoreNotReady");
  expect(await calls("synthesizeSpeech", "a store that comes")).toEqual([]);
  await world.apply(store("later"));
  const done = await complete("SpeechJob", "later");
  expect(firstOf(done).artifact?.uri).toContain("/later/");
});

it("a job that waits for the results of the same request has them as soon as the other job has ended", async () => {
  const spec = { text: "said twice", output, outputFormat: "hex", reuse: "SameRequest" };
  await world.control("POST", "/__faults", { operation: "synthesizeSpeech", kind: "latency", latencyMs: 3_000 });
  await world.apply(manifest("turbo", spec, "first"));
  await world.eventually(
    "the first is sent",
    async () => (await world.get("SpeechJob", "first")).status?.phase === "Submitting",
  );
  await world.apply(manifest("turbo", spec, "second"));
  await world.eventually(
    "the second waits",
    async () => condition(await world.get("SpeechJob", "second"), "Ready")?.reason === "Reusing",
  );
  await complete("SpeechJob", "first");
  const since = world.scheduler.now();
  await complete("SpeechJob", "second");
  expect(world.scheduler.now() - since).toBeLessThan(2_000);
  expect(await calls("synthesizeSpeech", "said twice")).toHaveLength(1);
});
