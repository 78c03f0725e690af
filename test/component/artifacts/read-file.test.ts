import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ByteRange } from "../../../src/artifacts/types.ts";
import { readVolumeFile } from "../../../src/artifacts/volume/read-file.ts";

let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "mooring-volume-"));
  await mkdir(join(root, "results/team"), { recursive: true });
  await writeFile(join(root, "results/team/0.mp3"), "0123456789");
  await writeFile(join(root, "results/team/empty.mp3"), "");
  await writeFile(join(root, "other.txt"), "of another store");
  await symlink(join(root, "other.txt"), join(root, "results/team/link.mp3"));
  await symlink(root, join(root, "results/folder"));
  execFileSync("mkfifo", [join(root, "results/team/pipe.mp3")]);
});
afterAll(() => rm(root, { recursive: true, force: true }));

async function read(key: string, range: ByteRange = { start: 0, end: undefined }) {
  const opened = await readVolumeFile({ root, path: "results" }, key, range);
  if (opened === undefined) return undefined;
  const chunks: Uint8Array[] = [];
  for await (const chunk of opened.chunks) chunks.push(chunk);
  await opened.close();
  return { text: Buffer.concat(chunks).toString(), start: opened.start, end: opened.end, total: opened.totalBytes };
}

describe("a file of a volume", () => {
  it.each([
    { title: "as a whole", range: { start: 0, end: undefined }, text: "0123456789", end: 10 },
    { title: "from a byte on", range: { start: 4, end: undefined }, text: "456789", end: 10 },
    { title: "a part", range: { start: 2, end: 5 }, text: "234", end: 5 },
    { title: "a part beyond its end", range: { start: 8, end: 99 }, text: "89", end: 10 },
  ])("is read $title", async ({ range, text, end }) => {
    expect(await read("team/0.mp3", range)).toEqual({ text, start: range.start, end, total: 10 });
  });

  it("has no part after its end", async () => {
    expect(await read("team/0.mp3", { start: 10, end: undefined })).toBeUndefined();
  });

  it("may be empty", async () => {
    expect(await read("team/empty.mp3")).toEqual({ text: "", start: 0, end: 0, total: 0 });
  });

  it.each([
    { title: "that is a link", key: "team/link.mp3", kind: "InvalidKey" },
    { title: "that is a named pipe", key: "team/pipe.mp3", kind: "InvalidKey" },
    { title: "in a folder that is a link", key: "folder/other.txt", kind: "InvalidKey" },
    { title: "outside the store", key: "../other.txt", kind: "InvalidKey" },
    { title: "that does not exist", key: "team/1.mp3", kind: "NotFound" },
  ])("$title is refused", async ({ key, kind }) => {
    await expect(read(key)).rejects.toMatchObject({ kind });
  });
});
