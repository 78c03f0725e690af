import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import type { SeedReport } from "../report.ts";
import { type Mutant, mutated, ROOT, sourceOf } from "./mutant.ts";

/** Simulates seeds until one fails. */
export type Simulate = (mutant: string) => Promise<SeedReport[]>;

/**
 * Prints for each guard what notices that it is disabled: seeds of the simulation, unit tests, or both. Returns the number of
 * guards that nothing notices.
 */
export async function printTable(mutants: readonly Mutant[], simulate: Simulate): Promise<number> {
  for (const mutant of mutants) mutated(mutant, sourceOf(mutant));
  let unnoticed = 0;
  console.log("| guard | simulation reports | seeds | unit test that fails |\n|---|---|---|---|");
  for (const mutant of mutants) {
    const reports = mutant.breaks === undefined ? [] : await simulate(mutant.name);
    const found = reports.find(({ violation }) => violation !== undefined)?.violation?.invariant;
    const tests = mutant.tests === undefined ? [] : await failingTests(mutant.name, mutant.tests);
    const { integration } = mutant;
    const isNoticed = found !== undefined || tests.length > 0;
    if (!isNoticed && integration === undefined) unnoticed += 1;
    const seeds = reports.length === 0 ? "" : found === undefined ? `none in ${reports.length}` : `${reports.length}`;
    const more = tests.length > 1 ? ` and ${tests.length - 1} more` : "";
    const other = integration === undefined ? "**nothing notices it**" : `not run here: ${integration}`;
    const [first = isNoticed ? "" : other] = tests;
    console.log(`| ${mutant.name} | ${found ?? ""} | ${seeds} | ${first.replaceAll("|", "\\|")}${more} |`);
  }
  return unnoticed;
}

const testReport = z.object({
  testResults: z.array(
    z.object({
      name: z.string(),
      status: z.string(),
      assertionResults: z.array(z.object({ fullName: z.string(), status: z.string() })),
    }),
  ),
});

/** Unit and component tests that fail without the guard. `filter`: a part of their paths, as it is in test/unit. */
async function failingTests(mutant: string, filter: string): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), "mooring-mutant-"));
  const outputFile = join(folder, "report.json");
  try {
    const args = [
      "run",
      "--config",
      "vitest.mutants.config.ts",
      "--reporter=json",
      `--outputFile=${outputFile}`,
      filter.replace(/^test\/unit/, ""),
    ];
    const vitest = join(ROOT, "node_modules/vitest/vitest.mjs");
    const child = spawn(process.execPath, [vitest, ...args], {
      cwd: ROOT,
      env: { ...process.env, MOORING_MUTANT: mutant },
      stdio: "ignore",
    });
    await new Promise((resolve) => child.once("close", resolve));
    const { testResults } = testReport.parse(JSON.parse(await readFile(outputFile, "utf8")));
    const broken = testResults.find(
      ({ status, assertionResults }) => status === "failed" && assertionResults.length === 0,
    );
    if (broken !== undefined) throw new Error(`guard ${mutant}: ${broken.name} does not load`);
    return testResults.flatMap(({ name, assertionResults }) =>
      assertionResults
        .filter(({ status }) => status === "failed")
        .map(({ fullName }) => `${name.replace(/^.*\/test\//, "")}: ${fullName.trim()}`),
    );
  } finally {
    await rm(folder, { recursive: true });
  }
}
