import { readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { BUNDLE } from "../support/world.ts";

const folder = dirname(BUNDLE);
let files: Map<string, string>;

beforeAll(async () => {
  const names = (await readdir(folder)).filter((name) => name.endsWith(".mjs"));
  files = new Map(
    await Promise.all(names.map(async (name) => [name, await readFile(join(folder, name), "utf8")] as const)),
  );
});

/** The files that Node loads together with `name`: what it imports, and what that imports. */
function loadedWith(name: string, loaded = new Set<string>()): Set<string> {
  if (loaded.has(name)) return loaded;
  loaded.add(name);
  for (const [, other] of (files.get(name) ?? "").matchAll(/(?:from|import)\s*"\.\/([\w.-]+\.mjs)"/g)) {
    if (other !== undefined) loadedWith(other, loaded);
  }
  return loaded;
}

describe("the bundle", () => {
  it.each([
    ["client-node, which a pod does without", "kubeconfig authentication"],
    ["the S3 client", "AmazonS3"],
    ["the simulator's HTTP server", "FST_ERR_"],
  ])("loads %s on demand", (_name, mark) => {
    const program = [...files.keys()].find((name) => name.startsWith("program-")) ?? "";
    const atStart = loadedWith(program, loadedWith("mooring.mjs"));
    const marked = [...files].filter(([, text]) => text.includes(mark)).map(([name]) => name);
    expect(atStart.size).toBeGreaterThan(2);
    expect(marked).not.toEqual([]);
    expect(marked.filter((name) => atStart.has(name))).toEqual([]);
  });
});
