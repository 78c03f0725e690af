import { createHash } from "node:crypto";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type FileServer, sha256Of, startFileServer } from "../../tools/artifacts/file-server.ts";
import { succeededTask } from "../support/jobs.ts";
import { manifest } from "../support/manifests.ts";
import {
  type AnyObject,
  condition,
  createWorld,
  eventsOf,
  eventually,
  type Operator,
  type World,
  waitForCondition,
} from "../support/world.ts";

let world: World;
let operator: Operator;
let root: string;
let source: FileServer;
const start = () => world.startOperator({ args: [`--artifact-root=${root}`] });
const store = (name: string) => ({ kind: "ArtifactStore", metadata: { name }, spec: { volume: { path: name } } });
const output = { storeRef: { name: "results" }, prefix: "films" };

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "mooring-output-"));
  source = await startFileServer();
  world = await createWorld("output", { simulator: { timeScale: 0.1 } });
  operator = await start();
  await world.apply(store("results"));
  await waitForCondition(world, "ArtifactStore", "results", "Ready");
});
afterAll(async () => {
  await source?.close();
  await rm(root, { recursive: true, force: true });
});

type Result = { kind: string; url?: string; type: string; artifact?: { uri: string; bytes: number; sha256: string } };
const firstOf = ({ status = {} }: AnyObject): Result => (status["results"] as Result[])[0] as Result;
/** Every file of the job in the store, hidden ones too. */
async function filesOf(name: string): Promise<string[]> {
  const all = await readdir(root, { recursive: true, withFileTypes: true });
  return all.filter((one) => one.isFile() && one.parentPath.includes(`/${name}/`)).map((one) => one.name);
}
/** The artifact as it lies in the store, after it was compared with what the status says of it. */
async function stored(job: AnyObject): Promise<Buffer> {
  const { artifact, type } = firstOf(job);
  const bytes = await readFile(fileURLToPath(artifact?.uri ?? ""));
  expect(artifact).toEqual({
    uri: expect.stringMatching(new RegExp(`^file://.*/results/films/.*/${job.metadata.uid}/0\\.${type}$`)),
    bytes: bytes.length,
    sha256: createHash("sha256").update(bytes).digest("hex"),
  });
  expect(bytes.length).toBeGreaterThan(100);
  expect(condition(job, "ResultsAvailable")).toMatchObject({ status: "True", reason: "Stored" });
  expect(await filesOf(job.metadata.name)).toEqual([`0.${type}`]);
  return bytes;
}
const calls = async (operation: string, text: string) =>
  (await world.audit(operation)).filter(({ body }) => JSON.stringify(body).includes(text));
const complete = (kind: string, name: string) => waitForCondition(world, kind, name, "Complete");
const phase = (kind: string, name: string, wanted: string) =>
  eventually(`${name} is ${wanted}`, async () => {
    const job = await world.get(kind, name);
    return job.status?.phase === wanted && job;
  });
const unheld = (kind: string, name: string) =>
  eventually(
    `${name} has no finalizer`,
    async () => ((await world.get(kind, name)).metadata.finalizers ?? []).length === 0,
  );

describe("bytes that the service answers", () => {
  it("in hex lie in the store, and the same is there as behind a URL", async () => {
    await world.apply(manifest("turbo", { text: "the very same", output, outputFormat: "hex" }, "hex"));
    const hex = await complete("SpeechJob", "hex");
    const bytes = await stored(hex);
    expect(firstOf(hex)).not.toHaveProperty("url");
    expect(hex.status).not.toHaveProperty("resultsExpireAt");
    await world.apply(manifest("turbo", { text: "the very same", output }, "url"));
    const url = await complete("SpeechJob", "url");
    expect(await stored(url)).toEqual(bytes);
    expect(firstOf(url).url).toMatch(/^http/);
    await unheld("SpeechJob", "url");
  });

  it("as a stream lie in the store whole, and the first audio is timed before the last came", async () => {
    await world.control("POST", "/__config", { streamChunkBytes: 2_000, streamChunkMs: 1_000 });
    const text = "one chunk after the other, ".repeat(8);
    await world.apply(manifest("turbo", { text, output, stream: true }, "stream"));
    const sending = await eventually("the first audio is timed", async () => {
      const job = await world.get("SpeechJob", "stream");
      return job.status?.firstAudioMs !== undefined && job;
    });
    expect(sending.status?.phase).toBe("Submitting");
    const done = await complete("SpeechJob", "stream");
    expect(done.status).toMatchObject({ attempts: 1, firstAudioMs: sending.status?.firstAudioMs });
    const streamed = await stored(done);
    await world.apply(manifest("turbo", { text, output, outputFormat: "hex" }, "whole"));
    expect(streamed).toEqual(await stored(await complete("SpeechJob", "whole")));
    await world.control("POST", "/__config", { streamChunkMs: 0 });
  });

  it.concurrent.each([
    ["breaks half-way", { kind: "truncate" }, true],
    ["ends without its end", { kind: "status", status: 200, body: 'data: {"audio":"00ff","status":1}\n\n' }, true],
    ["says something else", { kind: "status", status: 200, body: "data: hello\n\n" }, false],
    ["says an unknown status", { kind: "status", status: 200, body: 'data: {"audio":"00ff","status":7}\n\n' }, true],
  ])(
    "as a stream that %s halt the job, which keeps what came of them; released, the job completes",
    async (title, fault, kept) => {
      const name = title.replaceAll(" ", "-");
      const text = `a stream that ${title}`;
      await world.control("POST", "/__faults", { operation: "streamSpeech", match: text, ...fault });
      await world.apply(manifest("turbo", { text, output, stream: true }, name));
      const halted = await phase("SpeechJob", name, "Halted");
      expect(condition(halted, "Stalled")?.reason).toBe("ResponseUnusable");
      expect(await filesOf(name)).toHaveLength(kept ? 1 : 0);
      if (kept) expect(firstOf(halted).artifact?.bytes).toBeGreaterThan(0);
      await world.patch("SpeechJob", name, { metadata: { annotations: { "mooring.dev/resubmit-token": "1" } } });
      const done = await complete("SpeechJob", name);
      expect(done.status?.attempts).toBe(2);
      await stored(done);
    },
  );

  it.concurrent("as a stream without any audio are no result", async () => {
    const body = 'data: {"status":2}\n\n';
    await world.control("POST", "/__faults", {
      operation: "streamSpeech",
      match: "silence",
      kind: "status",
      status: 200,
      body,
    });
    await world.apply(manifest("turbo", { text: "silence", output, stream: true }, "silence"));
    const failed = await waitForCondition(world, "SpeechJob", "silence", "Failed");
    expect(condition(failed, "Failed")?.reason).toBe("NoResult");
    expect(await filesOf("silence")).toEqual([]);
  });

  it.concurrent("that are refused leave nothing in the store", async () => {
    const fault = { kind: "status", status: 400, body: { code: 400, reason: "INVALID_REQUEST_BODY", message: "no" } };
    await world.control("POST", "/__faults", { operation: "streamSpeech", match: "unheard of", ...fault });
    await world.apply(manifest("turbo", { text: "unheard of", output, stream: true }, "refused"));
    await waitForCondition(world, "SpeechJob", "refused", "Failed");
    expect(await filesOf("refused")).toEqual([]);
  });

  it("of a process that was killed while they came are unknown, and nothing of them is shown", async () => {
    await world.control("POST", "/__config", { streamChunkBytes: 2_000, streamChunkMs: 1_000 });
    const text = "killed in the middle, ".repeat(8);
    await world.apply(manifest("turbo", { text, output, stream: true }, "killed"));
    await eventually(
      "the first audio is timed",
      async () => (await world.get("SpeechJob", "killed")).status?.firstAudioMs,
    );
    await operator.kill();
    await world.control("POST", "/__config", { streamChunkMs: 0 });
    operator = await start();
    await phase("SpeechJob", "killed", "Halted");
    await eventually("nothing of it is left", async () => (await filesOf("killed")).length === 0);
    expect(await calls("streamSpeech", text)).toHaveLength(1);
    await world.patch("SpeechJob", "killed", { metadata: { annotations: { "mooring.dev/resubmit-token": "1" } } });
    await stored(await complete("SpeechJob", "killed"));
  });
});

describe("a task's results", () => {
  it.concurrent.each([
    ["SpeechJob", "hd"],
    ["VideoJob", "image"],
  ] as const)("of a %s are copied, and then it is complete", async (kind, variant) => {
    await world.apply(manifest(variant, { output }, `copied-${variant}`));
    await stored(await complete(kind, `copied-${variant}`));
    await unheld(kind, `copied-${variant}`);
  });

  /** A job whose task has succeeded with what the file server has under its name. */
  async function withSource(name: string, ttl = "3600") {
    await world.control("POST", "/__faults", succeededTask(name, `${source.url}/${name}`, ttl));
    await world.apply(manifest("image", { imageToVideo: { prompt: name }, output, backoffLimit: 3 }, name));
  }

  it("that cannot be fetched yet are recorded, tried again over a kill -9, and never paid again", async () => {
    source.files.set("/late", { bytes: 50_000, status: 503 });
    await withSource("late");
    const storing = await eventually("a copy has failed", async () => {
      const job = await world.get("VideoJob", "late");
      return condition(job, "Reconciling")?.reason === "Retrying" && job;
    });
    expect(storing.status).toMatchObject({ phase: "Storing", results: [{ kind: "Video", url: `${source.url}/late` }] });
    expect(condition(storing, "ResultsAvailable")).toMatchObject({ status: "True", reason: "Available" });
    expect(condition(storing, "Ready")?.status).toBe("False");
    expect(storing.metadata.finalizers).toEqual(["mooring.dev/finalizer"]);
    await operator.kill();
    source.files.set("/late", { bytes: 50_000, etag: '"1"' });
    operator = await start();
    const done = await complete("VideoJob", "late");
    expect(firstOf(done).artifact).toMatchObject({ bytes: 50_000, sha256: sha256Of(50_000) });
    expect(await calls("submitImageToVideo", "late")).toHaveLength(1);
    await unheld("VideoJob", "late");
  });

  it("of a job that is deleted while they are copied are stored, also when the operator is killed meanwhile", async () => {
    const file = { bytes: 20_000_000, etag: '"1"' };
    source.files.set("/deleted", { ...file, hangAfter: 12_000_000 });
    await withSource("deleted");
    await eventually("the copy is under way", async () => (await filesOf("deleted")).length > 0);
    await world.remove("VideoJob", "deleted");
    await operator.kill();
    source.files.set("/deleted", file);
    operator = await start();
    await eventually("it is gone", async () =>
      (await world.list("VideoJob")).every(({ metadata }) => metadata.name !== "deleted"),
    );
    expect(await filesOf("deleted")).toEqual(["0.mp4"]);
    await eventually("an event says so", async () =>
      (await eventsOf(world, "VideoJob", "deleted")).some((event) =>
        event.startsWith("Normal Stored: The results are"),
      ),
    );
    expect(await calls("submitImageToVideo", "deleted")).toHaveLength(1);
  });
});
