import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const page = await readFile(`${root}docs/explanation/security.md`, "utf8");
/** A link whose title is that of the test: pages show it when the pointer is on the link. */
const NAMED = /^\[[\w-]+\]\(\.\.\/\.\.\/(?<file>test\/\S+\.test\.ts) "(?<title>.+)"\)$/;

/** The rows of every table whose last column is named "test". */
const rows = page.split("\n\n").flatMap((block) => {
  const [heading = "", , ...lines] = block.split("\n");
  if (!heading.endsWith("| test |")) return [];
  return lines.map((line) => {
    const cells = line.slice(2, -2).split(" | ");
    return { statement: cells[0] ?? "", test: cells.at(-1) ?? "" };
  });
});

describe("every statement of docs/explanation/security.md", () => {
  test("is in a table", () => expect(rows.length).toBeGreaterThan(40));

  test.each(rows)("$statement: has a test that exists", async ({ test: named }) => {
    const { file = "", title = "" } =
      NAMED.exec(named)?.groups ??
      expect.fail(`${named}: write [FILE](../../test/FOLDER/FILE.test.ts "title of the test")`);
    expect(existsSync(root + file), file).toBe(true);
    const source = await readFile(root + file, "utf8");
    // A title stands between quotes right before the function of the test.
    const quoted = ['"', "'", "`"].some((quote) => source.includes(`${quote}${title}${quote},`));
    expect(quoted, `${file} has no test "${title}"`).toBe(true);
  });
});
