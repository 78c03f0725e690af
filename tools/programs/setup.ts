import type { TestProject } from "vitest/node";
import { ALL_TOOLS, prepareTools, type Tool } from "./tool.ts";

/** What the tests of each project use; one that is not here uses none. */
const NEEDED: Readonly<Record<string, readonly Tool[]>> = {
  unit: ["glua", "kstatus"],
  integration: ALL_TOOLS,
  page: ["versitygw"],
};

/** Vitest's global setup: the tools are there before the first test, whose time they are no part of. */
export async function setup({ name }: TestProject): Promise<void> {
  await prepareTools(NEEDED[name] ?? [], (line) => process.stderr.write(`tools: ${line}\n`));
}
