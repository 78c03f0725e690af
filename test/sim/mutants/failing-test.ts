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

/** Starts a program in a process group of its own: a worker of a test runner that is killed would go on with an endless loop. */
export function startWith(mutant: string, args: readonly string[]) {
  const env = { ...process.env, MOORING_MUTANT: mutant, NO_COLOR: "1" };
  const child = spawn(process.execPath, args, { cwd: ROOT, env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  if (!endsAll) for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, killAll);
  endsAll = true;
  running.add(child);
  child.once("exit", () => killGroup(child));
  return child;
}

const running = new Set<ChildProcess>();
let endsAll = false;

function killAll(): void {
  for (const child of running) killGroup(child);
  process.exit(1);
}

export function killGroup(child: ChildProcess): void {
  running.delete(child);
  try {
    if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
  } catch {
    // The whole group has ended.
  }
}

/** How it ended, unless it passed. */
export function endOf(child: ChildProcess): Promise<string | undefined> {
  let isSilent = false;
  const silence = setTimeout(() => {
    isSilent = true;
    killGroup(child);
  }, LONGEST_SILENCE_MS);
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", () => silence.refresh());
  return new Promise((resolve) =>
    child.once("close", (code) => {
      clearTimeout(silence);
      resolve(isSilent ? "does not end" : code === 0 ? undefined : "does not run");
    }),
  );
}
