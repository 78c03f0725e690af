import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { speechJobResource } from "../../../../../src/api/v1alpha1/kinds.ts";
import type { SpeechJobStatus } from "../../../../../src/api/v1alpha1/speech-job.ts";
import { systemClock } from "../../../../../src/base/clock.ts";
import { sourceOf } from "../../../../../src/cli/use/film.ts";
import { createProgress } from "../../../../../src/cli/use/one-shot/progress.ts";
import { type OneShot, runOneShot } from "../../../../../src/cli/use/one-shot/run-job.ts";
import type { KubeClient } from "../../../../../src/kube/client.ts";
import { KubeError } from "../../../../../src/kube/errors.ts";
import type { KubeObject } from "../../../../../src/kube/types.ts";
import { createStore } from "../../../../../src/runtime/store.ts";
import { until } from "../../../../support/fake-clock.ts";
import { speechJobOf } from "../../../../support/jobs.ts";
import { memoryKube } from "../../../../support/memory-kube.ts";

async function fileServer(status = 200): Promise<string> {
  const server = createServer((_request, response) => response.writeHead(status).end("ID3 audio"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/a.mp3`;
}

/** A cluster whose operator gives each new job this status at once. */
async function setUp(statusOf: (url: string) => Partial<SpeechJobStatus>, change: Partial<OneShot> = {}) {
  const folder = await mkdtemp(join(tmpdir(), "mooring-say-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const url = await fileServer();
  const objects = new Map<string, KubeObject>();
  const created: KubeObject[] = [];
  const lines: string[] = [];
  const kube: KubeClient = {
    ...memoryKube(createStore()).client,
    async create(_resource, _place, body) {
      const { name } = body.metadata;
      if (objects.has(name)) throw new KubeError("exists", { status: 409, reason: "AlreadyExists" });
      created.push(body);
      objects.set(name, body);
      return body;
    },
    async get(_resource, { name = "" }) {
      if (!objects.has(name)) throw new KubeError("not found", { status: 404, reason: "NotFound" });
      return { ...speechJobOf("turbo"), status: { conditions: [], ...statusOf(url) } } as never;
    },
    delete: async (_resource, { name = "" }) => void objects.delete(name),
  };
  const ending = new AbortController();
  const shot: OneShot = {
    resource: speechJobResource,
    namespace: "team",
    spec: { model: "speech-2.6-turbo", text: "Ahoy" },
    name: undefined,
    again: false,
    keep: "Day",
    file: join(folder, "a.mp3"),
    overwrite: false,
    ...change,
  };
  const progress = createProgress({ write: () => expect.fail("progress is for terminals") });
  const deps = {
    kube,
    clock: systemClock,
    progress,
    say: (line: string) => void lines.push(line),
    signal: ending.signal,
  };
  return {
    folder,
    file: shot.file,
    objects,
    created,
    lines,
    ending,
    run: (more: Partial<OneShot> = {}) => runOneShot(deps, { ...shot, ...more }),
  };
}

const succeeded = (url: string): Partial<SpeechJobStatus> => ({
  phase: "Succeeded",
  results: [{ kind: "Audio", url, type: "mp3", expiresAt: "2999-01-01T00:00:00Z" }],
});

describe("given a text, when its job succeeds", () => {
  it("the file has the audio, and the object stays for a day", async () => {
    const w = await setUp(succeeded);
    expect(await w.run()).toMatchObject({ kind: "Written" });
    expect(await readFile(w.file, "utf8")).toBe("ID3 audio");
    expect(await readdir(w.folder)).toEqual(["a.mp3"]);
    expect(w.created).toMatchObject([{ metadata: { namespace: "team" }, spec: { ttlSecondsAfterFinished: 86_400 } }]);
    expect(w.lines).toEqual([expect.stringMatching(/^SpeechJob team\/cli-speechjob-[0-9a-f]{12} created$/)]);
  });

  it("the same command sends nothing again: the object is the same", async () => {
    const w = await setUp(succeeded);
    await w.run();
    expect(await w.run({ overwrite: true })).toMatchObject({ kind: "Written" });
    expect(w.created).toHaveLength(1);
    expect(w.lines.at(-1)).toMatch(/exists: its result is used, and nothing is paid again$/);
  });

  it("another text, and --again, make another object", async () => {
    const w = await setUp(succeeded);
    await w.run();
    await w.run({ overwrite: true, spec: { model: "speech-2.6-turbo", text: "Ahoy!" } });
    await w.run({ overwrite: true, again: true });
    expect(new Set(w.created.map(({ metadata }) => metadata.name)).size).toBe(3);
  });

  it.each([
    ["Always", undefined, 1],
    ["UntilWritten", 86_400, 0],
  ] as const)("keep %s sets ttlSecondsAfterFinished %s and leaves %i objects", async (keep, ttl, left) => {
    const w = await setUp(succeeded, { keep });
    await w.run();
    expect(w.created[0]?.spec).toEqual({
      model: "speech-2.6-turbo",
      text: "Ahoy",
      ...(ttl === undefined ? {} : { ttlSecondsAfterFinished: ttl }),
    });
    expect(w.objects.size).toBe(left);
  });

  it("an existing file is not overwritten, and nothing is sent", async () => {
    const w = await setUp(succeeded);
    await writeFile(w.file, "mine");
    await expect(w.run()).rejects.toThrow(/a\.mp3 exists, so nothing is sent: .*--force$/);
    expect(w.created).toEqual([]);
  });

  it("a folder that does not exist ends the command before anything is sent", async () => {
    const w = await setUp(succeeded, { file: "/nonexistent/x.mp3" });
    await expect(w.run()).rejects.toThrow(/^-o \/nonexistent\/x\.mp3: .* so nothing is sent: name a file in a folder /);
    expect(w.created).toEqual([]);
  });

  it("a URL is tried after expiresAt, since the service states no unit of a lifetime", async () => {
    const results = (url: string) => [{ kind: "Audio" as const, url, expiresAt: "2026-01-01T00:00:00Z" }];
    const w = await setUp((url) => ({ phase: "Succeeded", results: results(url) }));
    await w.run();
    expect((await stat(w.file)).size).toBeGreaterThan(0);
  });

  it("a URL that the source refuses is told, with the copy", async () => {
    const gone = await fileServer(404);
    const artifact = { uri: "s3://bucket/a.mp3" };
    const w = await setUp(() => ({ phase: "Succeeded", results: [{ kind: "Audio", url: gone, artifact }] }));
    await expect(w.run()).rejects.toThrow(/HTTP 404: the URL has expired.*; a copy is at s3:\/\/bucket\/a\.mp3$/);
    expect(w.objects.size).toBe(1);
  });

  it("a download that breaks leaves no file and keeps the object, so that it can be repeated", async () => {
    const gone = await fileServer(404);
    const w = await setUp(() => succeeded(gone), { keep: "UntilWritten" });
    await expect(w.run()).rejects.toThrow(
      /404.*: the result is paid: run the same command again to fetch it, which pays nothing$/,
    );
    expect(await readdir(w.folder)).toEqual([]);
    expect(w.objects.size).toBe(1);
  });
});

describe("given a job that does not succeed", () => {
  it.each([
    ["Failed", "Failed", /failed/],
    ["Halted", "Halted", /may have been charged\. Decide with: mooring resolve speechjob\/cli-speechjob-\S+ -n team$/],
  ] as const)("%s ends the command as %s", async (phase, kind, message) => {
    const w = await setUp(() => ({ phase }));
    expect(await w.run()).toEqual({ kind, message: expect.stringMatching(message) });
  });

  it("Ctrl-C names the object, and how to get its result or drop it", async () => {
    const w = await setUp(() => ({ phase: "Running" }));
    const running = w.run();
    await until(() => w.objects.size === 1);
    w.ending.abort();
    const end = await running;
    expect(end.kind).toBe("Interrupted");
    expect(end.message).toMatch(
      /^SpeechJob team\/(\S+) continues and is charged\. .*run the same command again\. To drop it: kubectl delete speechjob -n team \1$/,
    );
    expect(w.objects.size).toBe(1);
  });
});

describe("progress", () => {
  it("is one line with a bar on a terminal", () => {
    const written: string[] = [];
    const progress = createProgress({ isTTY: true, columns: 40, write: (text) => written.push(text) });
    progress.show("Running", 50);
    progress.show("Queued at the service for a very long time", undefined);
    progress.clear();
    expect(written[0]).toBe("\r\u001b[2K[##########..........]  50 % Running");
    expect(written[1]).toHaveLength("\r\u001b[2K".length + 39);
    expect(written[2]).toBe("\r\u001b[2K");
  });
});

describe("mooring film", () => {
  const none = { reference: [] };
  it.each([
    [
      "an image",
      { ...none, image: "https://e.com/a.png", size: { width: 1280, height: 720 }, seed: 7 },
      {
        imageToVideo: { prompt: "p", imageURL: "https://e.com/a.png", width: 1280, height: 720, seed: 7 },
      },
    ],
    [
      "reference videos",
      { reference: ["https://e.com/a.mp4"], size: { width: 1280, height: 720 }, negative: "fog" },
      {
        videoToVideo: {
          input: { prompt: "p", referenceURLs: ["https://e.com/a.mp4"], negativePrompt: "fog" },
          parameters: { size: "1280*720" },
        },
      },
    ],
  ])("makes the spec of %s", (_name, flags, spec) => {
    expect(sourceOf("p", flags)).toEqual(spec);
  });

  it("needs a source", () => {
    expect(() => sourceOf("p", none)).toThrow("--image URL or --reference URL");
  });
});
