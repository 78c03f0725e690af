import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { projectRoot } from "../../support/pages.ts";

const WORDS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"];
const read = (path: string) => readFile(join(projectRoot, path), "utf8");

it.each(["README.md", "docs/how-to/install.md"])(
  "%s says what examples/ costs before it applies them",
  async (path) => {
    const files = (await readdir(join(projectRoot, "examples"))).filter((name) => name.endsWith(".yaml"));
    const manifests = (await Promise.all(files.map((name) => read(`examples/${name}`)))).join("\n");
    const count = (kind: RegExp) => WORDS[manifests.match(kind)?.length ?? 0];
    const warning = `requests ${count(/^kind: (Speech|Video)Job$/gm)} paid jobs and ${count(/^kind: GpuEndpoint$/gm)} endpoints`;
    const [before = ""] = (await read(path)).split("\nkubectl apply -f examples/\n");
    expect(before.replaceAll(/\s+/g, " ")).toContain(warning);
  },
);
