import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { ROOT } from "./mutant.ts";

/** A mutant can repeat something without an end: nothing is printed for so long. */
const LONGEST_SILENCE_MS = 150_000;
const VITEST = join(ROOT, "node_modules/vitest/vitest.mjs");

/**
 * The first test that fails with a mutant, or what else ends the run; undefined: all pass. `mutant`: a name, or a whole mutant as JSON.
 * `filters`: parts of paths.
 */
export async function failingTest(mutant: string, filters: readonly string[]): Promise<string | undefined> {
  const args = ["run", "--config", "vitest.mutants.config.ts", "--bail=1", "--reporter=default", ...filters];
  const child = startWith(mutant, [VITEST, ...args]);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += String(chunk)));
  const end = await endOf(child);
  return end && (/FAIL +(.*)/.exec(output)?.[1] ?? /.*Error: .*/.exec(output)?.[0] ?? end);
}

export function startWith(mutant: string, args: readonly string[]) {
  const env = { ...process.env, MOORING_MUTANT: mutant, NO_COLOR: "1" };
  return spawn(process.execPath, args, { cwd: ROOT, env, stdio: ["ignore", "pipe", "pipe"] });
}

/** How it ended, unless it passed. */
export function endOf(child: ChildProcess): Promise<string | undefined> {
  let isSilent = false;
  const silence = setTimeout(() => {
    isSilent = true;
    child.kill("SIGKILL");
  }, LONGEST_SILENCE_MS);
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", () => silence.refresh());
  return new Promise((resolve) =>
    child.once("close", (code) => {
      clearTimeout(silence);
      resolve(isSilent ? "does not end" : code === 0 ? undefined : "does not run");
    }),
  );
}
