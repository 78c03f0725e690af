import { createHash } from "node:crypto";
import { lstat, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { anyAddress } from "../../../src/base/address-guard.ts";
import { type FileServer, sha256Of, startFileServer } from "../../../tools/artifacts/file-server.ts";
import { volumeStore } from "../../../tools/artifacts/stores.ts";
import { hastyClock } from "../../support/fake-clock.ts";
import { describeStoredObjects } from "../../support/stored-objects.ts";

const MIB = 1024 * 1024;
const key = "film/VideoJob/sea/8d1f/0.mp4";
const signal = new AbortController().signal;
const open = { lookup: anyAddress, signal };

let server: FileServer;
let root: string;
const at = (...path: string[]) => join(root, "results", "film/VideoJob/sea/8d1f", ...path);
const url = (name: string) => `${server.url}/${name}?signature=secret`;
const there = async () => (await readdir(at()).catch(() => [])).sort();

beforeAll(async () => {
  server = await startFileServer();
});
afterAll(() => server.close());
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "mooring-volume-"));
  server.files.clear();
  server.seen.length = 0;
  return () => rm(root, { recursive: true, force: true });
});

describeStoredObjects(() => volumeStore(root), false);

describe("copy", () => {
  it.each([1, 100_000, 8 * MIB, 20 * MIB + 7])("%d bytes, whole and with their checksum", async (bytes) => {
    server.files.set("/a", { bytes, etag: '"1"' });
    const stored = await (await volumeStore(root)).copy(url("a"), key, open);
    expect(stored).toEqual({ uri: `file://${at("0.mp4")}`, bytes, sha256: sha256Of(bytes) });
    expect(
      createHash("sha256")
        .update(await readFile(at("0.mp4")))
        .digest("hex"),
    ).toBe(sha256Of(bytes));
    expect(await there()).toEqual(["0.mp4"]);
  });

  it("takes no longer beside 20,000 other results in its folder", async () => {
    server.files.set("/a", { bytes: 10, etag: '"1"' });
    const store = await volumeStore(root);
    const keys = { few: "few", many: "many" };
    for (const folder of Object.values(keys)) await store.copy(url("a"), `${folder}/0.mp4`, open);
    const many = join(root, "results", keys.many);
    for (let index = 0; index < 20_000; index++) await writeFile(join(many, `result-${index}.mp4`), "");
    const took: Record<keyof typeof keys, number[]> = { few: [], many: [] };
    for (let round = 0; round < 9; round++) {
      for (const how of ["few", "many"] as const) {
        const began = performance.now();
        await store.copy(url("a"), `${keys[how]}/1.mp4`, open);
        took[how].push(performance.now() - began);
      }
    }
    const median = (all: number[]) => all.toSorted((a, b) => a - b)[4] ?? 0;
    expect(median(took.many)).toBeLessThan(3 * median(took.few));
  });

  it("sends no credentials", async () => {
    server.files.set("/a", { bytes: 10 });
    await (await volumeStore(root)).copy(url("a"), key, open);
    expect(Object.keys(server.seen[0]?.headers ?? {}).sort()).toEqual([
      "accept",
      "accept-encoding",
      "connection",
      "host",
      "user-agent",
    ]);
  });

  it("tells of progress, in the bytes that lie in the store", async () => {
    server.files.set("/a", { bytes: 30 * MIB, etag: '"1"' });
    const told: number[] = [];
    const onProgress = ({ bytes, totalBytes }: { bytes: number; totalBytes: number | undefined }) => {
      told.push(bytes);
      expect(totalBytes).toBe(30 * MIB);
    };
    await (await volumeStore(root)).copy(url("a"), key, { ...open, onProgress });
    expect(told.length).toBe(3);
    // Each 8 MiB, and what a chunk has more.
    for (const [index, bytes] of told.entries()) expect(bytes / MIB - 8 * (index + 1)).toBeLessThan(0.5);
    expect(told).toEqual([...told].sort((a, b) => a - b));
  });

  it("replaces what lies under the key as a whole", async () => {
    server.files.set("/a", { bytes: 5 * MIB, etag: '"1"' });
    const store = await volumeStore(root);
    await store.copy(url("a"), key, open);
    server.files.set("/a", { bytes: 1000, etag: '"2"' });
    expect(await store.copy(url("a"), key, open)).toMatchObject({ bytes: 1000, sha256: sha256Of(1000) });
    expect((await lstat(at("0.mp4"))).size).toBe(1000);
  });

  it("goes on over broken connections and asks for nothing twice", async () => {
    server.files.set("/a", { bytes: 12 * MIB, etag: '"1"', breakAfter: 3 * MIB, breaks: 3 });
    const before = server.sent();
    const stored = await (await volumeStore(root)).copy(url("a"), key, open);
    expect(stored.sha256).toBe(sha256Of(12 * MIB));
    expect(server.seen).toHaveLength(4);
    // What was on its way when the connection broke is all that goes twice.
    expect(server.sent() - before).toBeLessThan(14 * MIB);
  });

  it.each([
    ["short ranges after a break", { longestRange: 100_000 }, 1],
    ["a range with 9 bytes too many after a break", { excess: 9 }, 2],
    ["no bytes at first", { bytes: 0 }, 2],
  ])("a source with %s is stored whole", async (_, fault, copies) => {
    const file = { bytes: 20 * MIB, etag: '"1"' };
    server.files.set("/a", { ...file, breakAfter: 9 * MIB, breaks: 1, ...fault });
    const store = await volumeStore(root, {}, "results", hastyClock);
    if (copies > 1) await expect(store.copy(url("a"), key, open)).rejects.toMatchObject({ retryable: true });
    expect(await there()).toEqual([]);
    if (copies > 1) server.files.set("/a", file);
    const stored = await store.copy(url("a"), key, open);
    expect(stored).toMatchObject({ bytes: 20 * MIB, sha256: sha256Of(20 * MIB) });
    expect(
      createHash("sha256")
        .update(await readFile(at("0.mp4")))
        .digest("hex"),
    ).toBe(sha256Of(20 * MIB));
  });

  it("a copy that was interrupted is taken up by the next, from what is on disk", async () => {
    const file = { bytes: 40 * MIB, etag: '"1"' };
    server.files.set("/a", { ...file, hangAfter: 21 * MIB });
    const ending = new AbortController();
    const first = (await volumeStore(root)).copy(url("a"), key, {
      lookup: anyAddress,
      signal: ending.signal,
      onProgress: ({ bytes }) => bytes >= 16 * MIB && ending.abort(new Error("stop")),
    });
    await expect(first).rejects.toMatchObject({ name: "ArtifactError", kind: "Aborted" });
    expect(await there()).toEqual([".0.mp4.partial"]);
    expect(await readdir(at(".0.mp4.partial"))).toEqual([expect.stringMatching(/^[0-9a-f]{32}-\d+$/)]);

    server.files.set("/a", file);
    const before = server.sent();
    const stored = await (await volumeStore(root)).copy(`${server.url}/a?signature=another`, key, open);
    expect(stored).toMatchObject({ bytes: 40 * MIB, sha256: sha256Of(40 * MIB) });
    expect(server.sent() - before).toBeLessThanOrEqual(24 * MIB);
    expect(server.seen.at(-1)?.range).toMatch(/^bytes=\d{8}-$/);
    expect(await there()).toEqual(["0.mp4"]);
  });

  it.each([
    ["another file now", { etag: '"2"' }],
    ["no ranges any more", { ranges: false }],
    ["nothing that proves it is the same", { etag: undefined }],
    ["a weak ETag", { etag: 'W/"1"' }],
  ])("starts again where the source has %s", async (_, change) => {
    const file = { bytes: 20 * MIB, etag: '"1"' as string | undefined };
    server.files.set("/a", { ...file, hangAfter: 10 * MIB });
    const ending = new AbortController();
    const onProgress = () => ending.abort(new Error("stop"));
    const store = await volumeStore(root);
    await expect(
      store.copy(url("a"), key, { lookup: anyAddress, signal: ending.signal, onProgress }),
    ).rejects.toThrow();
    expect(await there()).toHaveLength(1);
    server.files.set("/a", { ...file, ...change });
    expect(await store.copy(url("a"), key, open)).toMatchObject({ sha256: sha256Of(20 * MIB) });
    expect(await there()).toEqual(["0.mp4"]);
  });

  it("leaves nothing of a source that cannot be taken up, and what is abandoned", async () => {
    server.files.set("/a", { bytes: 20 * MIB, breakAfter: 10 * MIB, breaks: 1 });
    const store = await volumeStore(root);
    await expect(store.copy(url("a"), key, open)).rejects.toMatchObject({ kind: "SourceUnreachable" });
    expect(await there()).toEqual([]);

    server.files.set("/a", { bytes: 20 * MIB, etag: '"1"', hangAfter: 10 * MIB });
    const ending = new AbortController();
    const onProgress = () => ending.abort(new Error("stop"));
    await expect(store.copy(url("a"), key, { ...open, signal: ending.signal, onProgress })).rejects.toThrow();
    expect(await there()).toHaveLength(1);
    await store.abandon(key, signal);
    expect(await there()).toEqual([]);
  });
});

describe("writer", () => {
  it("shows nothing before the commit, then all of it", async () => {
    const writer = await (await volumeStore(root)).writer("film/SpeechJob/a/1/0.mp3", { signal });
    const folder = join(root, "results/film/SpeechJob/a/1");
    for (let index = 0; index < 100; index++) void writer.write(Buffer.alloc(1000, index));
    expect((await readdir(folder)).filter((name) => !name.startsWith("."))).toEqual([]);
    const stored = await writer.commit();
    const bytes = await readFile(join(folder, "0.mp3"));
    expect(bytes.length).toBe(100_000);
    expect(bytes[99_999]).toBe(99);
    expect(stored).toMatchObject({ bytes: 100_000, sha256: createHash("sha256").update(bytes).digest("hex") });
    expect(await readdir(folder)).toEqual(["0.mp3"]);
  });

  it("leaves nothing when it is discarded, and clears what a crash left of an earlier one", async () => {
    const store = await volumeStore(root);
    const lost = await store.writer(key, { signal });
    await lost.write(Buffer.alloc(10));
    const writer = await store.writer(key, { signal });
    expect(await there()).toHaveLength(1);
    await writer.write(Buffer.alloc(10));
    await writer.discard();
    await writer.discard();
    expect(await there()).toEqual([]);
    await lost.discard();
  });

  it("stops at the cap", async () => {
    const writer = await (await volumeStore(root, { maxBytes: 100 })).writer(key, { signal });
    await writer.write(Buffer.alloc(100));
    await expect(writer.write(Buffer.alloc(1))).rejects.toMatchObject({ kind: "TooLarge" });
    await expect(writer.commit()).rejects.toMatchObject({ kind: "TooLarge" });
    expect(await there()).toEqual([]);
  });
});

describe("nothing leaves the folder", () => {
  it.each(["../x", "a/../../x", "/etc/x", "a//b", "a/./b", "a\\..\\b", "a\0b"])("key %j", async (bad) => {
    const store = await volumeStore(root);
    await expect(store.writer(bad, { signal })).rejects.toMatchObject({ kind: "InvalidKey" });
    await expect(store.copy(`${server.url}/a`, bad, open)).rejects.toMatchObject({ kind: "InvalidKey" });
    expect(await readdir(root)).toEqual([]);
  });

  it.each(["../other", "/tmp", "a/../.."])("path %j of the store", async (path) => {
    const store = await volumeStore(root, {}, path);
    await expect(store.probe(signal)).rejects.toMatchObject({ kind: "InvalidKey" });
  });

  it("a link in place of a folder or of the file is refused, and what it leads to untouched", async () => {
    const outside = await mkdtemp(join(tmpdir(), "mooring-outside-"));
    const store = await volumeStore(root);
    await symlink(outside, join(root, "results"));
    await expect(store.writer(key, { signal })).rejects.toThrow(/results under the artifact root is a link/);
    await rm(join(root, "results"));

    await mkdir(at(), { recursive: true });
    await writeFile(join(outside, "theirs"), "theirs");
    await symlink(join(outside, "theirs"), at("0.mp4"));
    await expect(store.writer(key, { signal })).rejects.toMatchObject({ kind: "InvalidKey" });
    expect(await readFile(join(outside, "theirs"), "utf8")).toBe("theirs");
    expect(await readdir(outside)).toEqual(["theirs"]);
    await rm(outside, { recursive: true });
  });

  it("a link in place of the partial file is not followed", async () => {
    const outside = join(await mkdtemp(join(tmpdir(), "mooring-outside-")), "theirs");
    await writeFile(outside, "theirs");
    await mkdir(at(), { recursive: true });
    server.files.set("/a", { bytes: 20 * MIB, etag: '"1"', hangAfter: 10 * MIB });
    const ending = new AbortController();
    const onProgress = () => ending.abort(new Error("stop"));
    const store = await volumeStore(root);
    await expect(store.copy(url("a"), key, { ...open, signal: ending.signal, onProgress })).rejects.toThrow();
    const partials = at(".0.mp4.partial");
    const [partial = ""] = await readdir(partials);
    await rm(join(partials, partial));
    await symlink(outside, join(partials, partial));
    server.files.set("/a", { bytes: 20 * MIB, etag: '"1"' });
    await expect(store.copy(url("a"), key, open)).rejects.toMatchObject({ kind: "InvalidKey" });
    expect(await readFile(outside, "utf8")).toBe("theirs");

    await rm(partials, { recursive: true });
    await symlink(dirname(outside), partials);
    await expect(store.copy(url("a"), key, open)).rejects.toThrow(
      /\.0\.mp4\.partial under the artifact root is a link/,
    );
    expect(await readdir(dirname(outside))).toEqual(["theirs"]);
  });
});

it("the last file takes its folder with it, though a process was killed before it wrote the file again", async () => {
  const store = await volumeStore(root);
  const writer = await store.writer(key, { signal });
  await writer.write(Buffer.alloc(10));
  await writer.commit();
  await mkdir(at(".0.mp4.partial"));
  await store.remove(key, signal);
  expect(await readdir(join(root, "results/film/VideoJob/sea"))).toEqual([]);
});

describe("probe", () => {
  it("writes, reads and removes, and makes the folder", async () => {
    await (await volumeStore(root)).probe(signal);
    expect(await readdir(join(root, "results"))).toEqual([]);
  });

  it("says that the root is not there", async () => {
    await expect((await volumeStore(join(root, "gone"))).probe(signal)).rejects.toMatchObject({ kind: "NotFound" });
  });
});
