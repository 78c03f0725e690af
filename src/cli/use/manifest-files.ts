import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { DocumentOptions, ParseOptions, SchemaOptions, Tags } from "yaml";

const MANIFEST = /\.(ya?ml|json)$/;

/** Reads YAML as kubectl does: YAML 1.1, in which an unquoted time is text. */
export const KUBECTL_YAML = {
  version: "1.1",
  customTags: (tags: Tags) => tags.filter((tag) => typeof tag === "string" || !isTime(tag)),
} satisfies ParseOptions & DocumentOptions & SchemaOptions;

/** 2026-02-01T00:00:00Z, and 12:30, which YAML 1.1 has as 750. */
function isTime(tag: Exclude<Tags[number], string>): boolean {
  return tag.tag === "tag:yaml.org,2002:timestamp" || ("format" in tag && tag.format === "TIME");
}

export type ManifestFile = { path: string; content: string };

/** The files of paths: files, directories of manifests in the order of their names, or `-` for standard input. */
export async function* manifestFiles(paths: readonly string[]): AsyncGenerator<ManifestFile> {
  for (const path of (await Promise.all(paths.map(filesIn))).flat()) {
    yield { path, content: path === "-" ? await text(process.stdin) : await readFile(path, "utf8") };
  }
}

async function filesIn(path: string): Promise<string[]> {
  if (path === "-" || !(await stat(path)).isDirectory()) return [path];
  const names = (await readdir(path)).filter((name) => MANIFEST.test(name)).sort();
  if (names.length === 0) throw new Error(`${path}: no .yaml, .yml or .json file is in this directory`);
  return names.map((name) => join(path, name));
}
