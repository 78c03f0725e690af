import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * Which programs besides the control plane a test needs: what its imports ask `tool()` and `findChromium()` for. `src/` asks for none.
 * Nobody keeps a list: a test that begins to use helm leaves `npm test`, and is part of `npm run test:full`.
 */
const ROOT = fileURLToPath(new URL("..", import.meta.url));
/** The need of a test in a browser. */
export const CHROMIUM = "chromium";
const IMPORT = /(?:^(?:import|export)\s(?!type\s)[^;]*?from\s+|\bimport\(|^import\s+)"(\.[^"]+\.ts)"/gm;
/** A script that a test starts, from the root of the repository. */
const SCRIPT = /"((?:bench|scripts|test|tools)\/[^"]+\.ts)"/g;
const TOOL = /\btool\("([a-z-]+)"\)/g;

type Source = { next: string[]; needs: string[] };
const sources = new Map<string, Source>();

/** The tests in these folders, by path from the root. */
export function testsIn(...folders: readonly string[]): string[] {
  return folders
    .flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" }).map((name) => join(folder, name)),
    )
    .filter((path) => path.endsWith(".test.ts"))
    .sort();
}

/** The programs that the test at this path needs, sorted. */
export function needsOf(test: string): string[] {
  const files = new Set([join(ROOT, test)]);
  const needs = new Set<string>();
  for (const file of files) {
    const source = sourceOf(file);
    for (const next of source.next) files.add(next);
    for (const need of source.needs) needs.add(need);
  }
  return [...needs].sort();
}

function sourceOf(file: string): Source {
  const known = sources.get(file);
  if (known !== undefined) return known;
  const text = readFileSync(file, "utf8");
  const imported = [...text.matchAll(IMPORT)].map(([, path = ""]) => resolve(dirname(file), path));
  const started = [...text.matchAll(SCRIPT)].map(([, path = ""]) => join(ROOT, path));
  const source = {
    next: [...imported, ...started].filter((path) => !relative(ROOT, path).startsWith("src/") && existsSync(path)),
    needs: [...text.matchAll(TOOL)]
      .map(([, name = ""]) => name)
      .concat(text.includes("findChromium(") ? [CHROMIUM] : []),
  };
  sources.set(file, source);
  return source;
}
