import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ATTEMPTS } from "./attempts.ts";

it.each(ATTEMPTS)("$by: $attempt: $file has the test", ({ file, test }) => {
  const path = join(import.meta.dirname, "..", file);
  expect(existsSync(path), file).toBe(true);
  expect(readFileSync(path, "utf8")).toContain(test);
});
