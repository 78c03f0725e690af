import type { TestProject } from "vitest/node";
import { cacheFolder, MOD_FILES } from "../cluster/cache.ts";
import { kubernetesBinaries } from "../cluster/providers/build.ts";
import { ALL_TOOLS, prepareTools, type Tool } from "./tool.ts";

/** What the tests of each project use; one that is not here uses none. */
const NEEDED: Readonly<Record<string, readonly Tool[]>> = {
  unit: ["glua", "kstatus"],
  integration: ALL_TOOLS,
  page: ["versitygw"],
};

/** Vitest's global setup: the tools are there before the first test, whose time they are no part of. */
export async function setup({ name }: TestProject): Promise<void> {
  const { env } = process;
  const log = (line: string) => void process.stderr.write(`tools: ${line}\n`);
  await prepareTools(NEEDED[name] ?? [], log);
  if (name !== "integration" || env["MOORING_UPGRADE"] !== "1") return;
  for (const mod of MOD_FILES) await kubernetesBinaries(mod, { env, cache: cacheFolder(env), log, signal: undefined });
}
