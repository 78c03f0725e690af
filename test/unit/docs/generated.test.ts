import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import packageJson from "../../../package.json" with { type: "json" };
import { between } from "../../../scripts/between.ts";
import { generatedPages } from "../../../scripts/pages.ts";
import { REASONS } from "../../../src/api/v1alpha1/reasons.ts";
import { flagOf, operatorConfigSchema, variableOf } from "../../../src/operator/config.ts";

const read = (path: string) => readFile(new URL(`../../../${path}`, import.meta.url), "utf8");

describe("pages made from the source", () => {
  test("are as `npm run generate` writes them", async () => {
    for (const [path, text] of await generatedPages())
      expect(await read(path), `${path}: run npm run generate`).toBe(text);
  });

  test("name every reason with its meaning", async () => {
    const page = await read("docs/reference/reasons.md");
    for (const reason of Object.values(REASONS).flatMap(Object.keys))
      expect(page).toMatch(new RegExp(`^\\| \`${reason}\` \\| \\S.* \\|$`, "m"));
  });

  test("name every setting of the operator, as flag and as variable", async () => {
    const page = await read("docs/reference/command-line.md");
    for (const setting of Object.keys(operatorConfigSchema.shape)) {
      expect(page).toContain(`\n  ${flagOf(setting)} `);
      expect(page).toContain(`[$${variableOf(setting)}]`);
    }
  });
});

test("a page without the marks is an error", () => {
  expect(() => between("values", "# Page\n", "table")).toThrow("no <!-- values -->");
});

describe("docs/reference/dependencies.md", () => {
  test("gives a reason for every dependency, and names nothing else", async () => {
    const page = await read("docs/reference/dependencies.md");
    const rows = [...page.matchAll(/^\| `([^`]+)` \| (.+) \|$/gm)].map(([, name]) => name);
    const { dependencies, devDependencies } = packageJson;
    expect(rows.sort()).toEqual([...Object.keys(dependencies), ...Object.keys(devDependencies)].sort());
  });
});
