import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { OPERATION_NAMES, OPERATIONS } from "../../../src/provider/operations.ts";
import { projectRoot } from "../../support/pages.ts";

test("docs/does-my-service-fit.md has each operation of the interface with its request and its cost", async () => {
  const page = await readFile(join(projectRoot, "docs/does-my-service-fit.md"), "utf8");
  const rows = page.split("\n").filter((line) => /^\| `\w+`/.test(line));
  for (const name of OPERATION_NAMES.filter((one) => OPERATIONS[one].path !== "")) {
    const { method, path, paid, model } = OPERATIONS[name];
    const row = rows.find((line) => line.split("|")[1]?.includes(`\`${name}\``));
    expect(row, name).toContain(`\`${method} ${path}\``);
    expect(row?.split("|")[3]?.trim() === "paid", name).toBe(paid);
    if (model !== undefined) expect(row, name).toContain(`\`${model}\``);
  }
});
