/**
 * `npm test`: everything, in the order of what fails fast, until a step fails; ends with how long each step took.
 *
 * `--reporter` and `--outputFile` (both with `=`) make a report of unit and integration tests together. All other arguments go to both
 * runs of vitest, such as a part of a file's name.
 */
import { spawn } from "node:child_process";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findChromium, NO_CHROMIUM } from "../tools/programs/chromium.ts";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** `missing`: why the step cannot run here, which does not fail it. */
type Step = { name: string; command: string; args: string[]; missing?: string | undefined };

const isOfReport = (argument: string) => /^--(reporter|outputFile)\b/.test(argument);
const forReport = process.argv.slice(2).filter(isOfReport);
const forTests = process.argv.slice(2).filter((argument) => !isOfReport(argument));
const reports = await mkdtemp(join(tmpdir(), "mooring-reports-"));

const npmScript = (name: string): Step => ({ name, command: "npm", args: ["run", "--silent", name] });
const tests = (project: string): Step => {
  const reporters = ["--reporter=default", "--reporter=blob", `--outputFile.blob=${join(reports, `${project}.json`)}`];
  const args = ["run", `--project=${project}`, "--passWithNoTests", ...reporters, ...forTests];
  return { name: `${project} tests`, command: "vitest", args };
};
const steps = [
  npmScript("lint"),
  npmScript("typecheck"),
  tests("unit"),
  tests("sim"),
  npmScript("build"),
  tests("integration"),
  tests("memory"),
  { ...tests("page"), missing: (await findChromium()) === undefined ? NO_CHROMIUM : undefined },
];

/** The exit code; 1 for a signal or a program that cannot be started. */
function run({ command, args }: Step): Promise<number> {
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio: "inherit" });
    // The step ends what it started, and then all ends.
    const forward = (signal: NodeJS.Signals) => void child.kill(signal);
    for (const signal of SIGNALS) process.on(signal, forward);
    child.once("exit", () => {
      for (const signal of SIGNALS) process.off(signal, forward);
    });
    child.once("error", (error) => {
      console.error(`${command}: ${error.message}`);
      resolve(1);
    });
    child.once("close", (code) => resolve(code ?? 1));
  });
}

const began = performance.now();
const seconds = (since: number) => `${Math.round((performance.now() - since) / 1000)} s`;
const durations: string[] = [];
let failed: string | undefined;
for (const step of steps) {
  if (step.missing !== undefined) {
    durations.push(`${step.name} not run: ${step.missing}`);
    continue;
  }
  const started = performance.now();
  const code = await run(step);
  durations.push(`${step.name} ${seconds(started)}`);
  if (code === 0) continue;
  failed = step.name;
  process.exitCode = code;
  break;
}
if (forReport.length > 0 && (await readdir(reports)).length > 0) {
  await run({ name: "report", command: "vitest", args: ["run", `--merge-reports=${reports}`, ...forReport] });
}
await rm(reports, { recursive: true });
console.log(
  `npm test: ${failed === undefined ? "passed" : `${failed} failed`} after ${seconds(began)} (${durations.join(", ")})`,
);
