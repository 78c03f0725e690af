import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { bytesUnder } from "../../../src/artifacts/volume/folders.ts";

const { signal } = new AbortController();

it("the bytes of a store are those of its files in every folder; a store without a folder has none", async () => {
  const root = await mkdtemp(join(tmpdir(), "mooring-folder-"));
  onTestFinished(() => rm(root, { recursive: true }));
  await mkdir(join(root, "team", "film"), { recursive: true });
  await writeFile(join(root, "team", "film", "sea.mp4"), "12345");
  await writeFile(join(root, "team", "ahoy.mp3"), "123");

  expect(await bytesUnder(root, 100, signal)).toBe(8);
  expect(await bytesUnder(join(root, "nobody"), 100, signal)).toBe(0);
  await expect(bytesUnder(join(root, "team", "ahoy.mp3"), 100, signal)).rejects.toMatchObject({ code: "ENOTDIR" });
});
