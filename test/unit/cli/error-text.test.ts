import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { errorText } from "../../../src/cli/error-text.ts";

it("an error of the operating system names the path and what is wrong, without codes", async () => {
  const error = await readFile("/nonexistent/key.txt").catch((thrown: unknown) => thrown);
  expect(errorText(error)).toBe("/nonexistent/key.txt: no such file or directory");
});

it("an error of Mooring has its own words", () => {
  expect(errorText(new Error("--rows: must be 1 or more"))).toBe("--rows: must be 1 or more");
});
