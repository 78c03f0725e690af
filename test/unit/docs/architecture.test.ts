import { readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const page = await readFile(`${root}docs/explanation/architecture.md`, "utf8");
const sources = (await readdir(`${root}src`, { recursive: true }))
  .filter((path) => path.endsWith(".ts"))
  .map((path) => `src/${path}`);

/** The files of VideoJob itself; a new kind has files of its own instead. */
const OWN = /^src\/(api\/v1alpha1\/video-job|controllers\/jobs\/requests\/video|ui\/page\/form\/video-job)\.ts$/;
const NAMES_VIDEO_JOB = /\b(VideoJob|submitImageToVideo|imageToVideo\(request: object)\b/;

/** The part of a page below a heading. */
function section(heading: string): string {
  const [, rest = ""] = page.split(`\n## ${heading}\n`);
  return rest.split("\n## ")[0] ?? "";
}

test("every file that the page names exists", () => {
  const present = page.replace(section("Example: add ImageJob"), "");
  const named = [...present.matchAll(/`(src\/[^`<*]+\.ts)`/g)].flatMap(([, path]) => path ?? []);
  expect(named.length).toBeGreaterThan(50);
  expect(named.filter((path) => !sources.includes(path))).toEqual([]);
});

test("a new paid job changes at most 8 existing files, and the page lists them", async () => {
  const listed = [...section("Example: add ImageJob").matchAll(/^\| `([^`]+)` \|/gm)].map(([, path]) => path);
  const texts = await Promise.all(
    sources
      .filter((path) => !path.startsWith("src/simulator/") && !OWN.test(path))
      .map(async (path) => ({ path, text: await readFile(root + path, "utf8") })),
  );
  const named = texts.filter(({ text }) => NAMES_VIDEO_JOB.test(text)).map(({ path }) => path);
  expect(listed.length).toBeLessThanOrEqual(8);
  expect(listed.sort()).toEqual(named.sort());
});
