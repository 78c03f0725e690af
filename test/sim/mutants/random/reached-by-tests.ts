import { appendFileSync } from "node:fs";
import { relative } from "node:path";
import { afterAll, beforeAll, expect } from "vitest";
import { ROOT } from "../mutant.ts";
import { takeReached } from "./marks.ts";

/** Appends to the file MOORING_REACHED what ran in each test file, and what ran while files were loaded. */
const write = (by: string) =>
  appendFileSync(process.env["MOORING_REACHED"] ?? "", `${JSON.stringify({ by, reached: takeReached() })}\n`);

beforeAll(() => write(""));
afterAll(() => write(relative(ROOT, expect.getState().testPath ?? "")));
