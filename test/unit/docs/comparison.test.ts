import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { projectRoot } from "../../support/pages.ts";

const page = await readFile(join(projectRoot, "docs/explanation/comparison.md"), "utf8");
const tables = page.split(/^## /m).filter((section) => section.includes("| expectation |"));
const rows = tables.flatMap((table) => {
  const lines = table.split("\n").filter((line) => line.startsWith("| "));
  return lines.slice(1).map((line) => {
    const [expectation = "", mooring = "", ...peers] = line.slice(2, -2).split(" | ");
    return { expectation, mooring, peers };
  });
});

const targets = (cell: string) => [...cell.matchAll(/\]\(([^)]+)\)/g)].map(([, target = ""]) => target);

describe("the expectations of docs/explanation/comparison.md", () => {
  test("are at least 24, each once", () => {
    const names = rows.map(({ expectation }) => expectation);
    expect(names.length).toBeGreaterThanOrEqual(24);
    expect(new Set(names).size).toBe(names.length);
  });

  test.each(rows)("$expectation: the files that prove the entry of Mooring exist", async ({ mooring }) => {
    const files = targets(mooring).map((target) => target.split("#")[0] ?? "");
    expect(files).not.toEqual([]);
    for (const file of files)
      expect((await stat(join(projectRoot, "docs/explanation", file))).isFile(), file).toBe(true);
  });

  test.each(rows)("$expectation: each other project has a source or was not found", ({ peers }) => {
    expect(peers).toHaveLength(7);
    for (const peer of peers) {
      if (peer === "not found") continue;
      expect(targets(peer)).toEqual([expect.stringMatching(/^https:\/\/[a-z0-9.-]+\//)]);
    }
  });
});
