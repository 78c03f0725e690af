import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type Mutant, ROOT } from "../mutant.ts";
import { relatedTests } from "./related.ts";

/** What noticed a mutant: a test's name, an invariant; undefined: nothing. */
export type Noticed = string | undefined;

/** Far beyond what the tests take: a mutant can repeat something without an end. */
const LONGEST_MS = 6 * 60_000;
const VITEST = join(ROOT, "node_modules/vitest/vitest.mjs");

/** Most mutants end with the tests that are nearest to their file. */
const NEAREST = 6;

/** The unit tests that load the file, and then the component tests, which take longer. */
export async function noticedByTests(mutant: Mutant): Promise<Noticed> {
  const unit = relatedTests("unit", mutant.file);
  const component = relatedTests("component", mutant.file);
  for (const some of [unit.slice(0, NEAREST), unit.slice(NEAREST), component]) {
    const failed = some.length === 0 ? undefined : await failingTest(mutant, some);
    if (failed !== undefined) return failed;
  }
  return undefined;
}

/** Seeds, and what a simulation leaves behind. */
export async function noticedBySimulation(mutant: Mutant, seeds: number): Promise<Noticed> {
  const args = ["--from", "1", "--seeds", String(seeds), "--mutant", JSON.stringify(mutant)];
  const child = start([join(ROOT, "test/sim/worker.ts"), ...args], mutant);
  let found: Noticed;
  const ended = endOf(child);
  for await (const line of createInterface({ input: child.stdout })) {
    const report: { seed: number; violation?: { invariant: string } } = JSON.parse(line);
    if (report.violation === undefined) continue;
    found ??= `${report.violation.invariant} (seed ${report.seed})`;
    child.kill();
  }
  const end = await ended;
  return found ?? end ?? failingTest(mutant, ["test/sim/"]);
}

async function failingTest(mutant: Mutant, filters: string[]): Promise<Noticed> {
  const args = ["run", "--config", "vitest.mutants.config.ts", "--bail=1", "--reporter=default", ...filters];
  const child = start([VITEST, ...args], mutant);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += String(chunk)));
  const end = await endOf(child);
  return end === undefined ? undefined : (/FAIL +(.*)/.exec(output)?.[1] ?? /.*Error: .*/.exec(output)?.[0] ?? end);
}

function start(args: string[], mutant: Mutant) {
  const env = { ...process.env, MOORING_MUTANT: JSON.stringify(mutant), NO_COLOR: "1" };
  return spawn(process.execPath, args, { cwd: ROOT, env, stdio: ["ignore", "pipe", "pipe"] });
}

/** How it ended, unless it passed. */
function endOf(child: ChildProcess): Promise<Noticed> {
  const late = AbortSignal.timeout(LONGEST_MS);
  late.addEventListener("abort", () => child.kill("SIGKILL"));
  child.stderr?.resume();
  return new Promise((resolve) =>
    child.once("close", (code) => resolve(late.aborted ? "does not end" : code === 0 ? undefined : "does not run")),
  );
}
