import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { NAMES } from "../../../scripts/release/names.ts";
import { releaseNotes } from "../../../scripts/release/notes.ts";
import { documentationPages, projectRoot } from "../../support/pages.ts";

const read = (path: string) => readFile(join(projectRoot, path), "utf8");
const OTHERS = ["charts/mooring/values.yaml", "charts/mooring/README.md", ".github/workflows/release.yml"];

it("each image and chart has the names of the release", async () => {
  const others = await Promise.all(OTHERS.map(async (path) => ({ path, text: await read(path) })));
  const allowed = [NAMES.image, NAMES.chart, NAMES.charts].map((name) => name.replace("oci://", ""));
  for (const { path, text } of [...(await documentationPages()), ...others]) {
    const named = text.matchAll(/ghcr\.io\/[a-z0-9./-]*[a-z0-9]/g);
    for (const [name] of named) expect(allowed, path).toContain(name);
    expect(text, path).not.toMatch(/(?<!registry\.example\.com\/)\bmooring\/operator\b/);
  }
  expect(await read("charts/mooring/values.yaml")).toContain(`repository: ${NAMES.image}\n`);
});

const changelog = `# Changelog

## [Unreleased]

- next

## [0.2.0] - 2026-01-01

### Added

- this

## [0.1.0] - 2025-01-01

- first
`;

const cases: { version: string; notes: string }[] = [
  { version: "0.2.0", notes: "### Added\n\n- this\n" },
  { version: "0.3.0", notes: "- next\n" },
];

it.each(cases)("the notes of $version are its section of the changelog", ({ version, notes }) => {
  expect(releaseNotes(changelog, version)).toBe(notes);
});

it("a version without notes is refused", () => {
  expect(() => releaseNotes("# Changelog\n\n## [Unreleased]\n", "0.3.0")).toThrow("no text for [0.3.0]");
});
