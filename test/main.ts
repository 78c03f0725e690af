/**
 * `npm test`: what you wait for. `npm run test:full`: everything, and it builds the other programs that tests need meanwhile. Both run
 * their steps in the order of what fails fast until one fails. The last lines say which tests did not run, and how long each step took.
 *
 * --only KINDS    of lint, typecheck and test/kinds.ts, separated by commas
 * --rest          what `npm test` leaves out
 * --long          the long form of replicas, batch, campaign, attacks and upgrade, which `--only` names
 * --items N, --jobs N, --endpoints N, --kills N, --seed N, --rows N, --select NAMES
 *                 change a long form, or the mutants: the comment at the beginning of the form tells which it takes
 * --kubernetes V  newest (default), or the oldest that Mooring supports
 *
 * `--reporter` and `--outputFile` (both with `=`) make one report of all tests. Other arguments go to each run of vitest: a part of a
 * path, or `-t NAME`.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { availableParallelism, setPriority, tmpdir } from "node:os";
import { join } from "node:path";
import { findChromium, NO_CHROMIUM } from "../tools/programs/chromium.ts";
import { hasTool, isTool } from "../tools/programs/tool.ts";
import { parseArguments } from "./arguments.ts";
import { asksForHelp, helpOf } from "./help.ts";
import { KINDS, type Kind, type KindName, testsWithNeeds } from "./kinds.ts";
import { needsOf } from "./needs.ts";

type Step = { name: string; command: string; args: string[]; env?: Record<string, string> };
type Builder = { hasEnded(): boolean; ended: Promise<number>; stop(): Promise<unknown> };

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
const BUILD = "tools/programs/build.ts";
const TOOLS = "building the tools";
/** Meanwhile tests run: they keep half of the cores, and what the compiler's low priority leaves them. */
const LOW_PRIORITY = 10;
const COMPILER_CORES = Math.max(1, Math.floor(availableParallelism() / 2));

if (asksForHelp(process.argv)) {
  console.log(`${helpOf(import.meta.filename)}\n\nKINDS: ${["lint", "typecheck", ...Object.keys(KINDS)].join(", ")}`);
  process.exit();
}
const wanted = parseArguments(process.argv.slice(2));
const reports = await mkdtemp(join(tmpdir(), "mooring-reports-"));
const began = performance.now();
const durations: string[] = [];
/** The tests that do not run, by the program that they need. */
const notRun = new Map<string, string[]>();

const failed = await runAll();
if (wanted.forReport.length > 0 && (await readdir(reports)).length > 0) {
  await run({ name: "report", command: "vitest", args: ["run", `--merge-reports=${reports}`, ...wanted.forReport] });
}
await rm(reports, { recursive: true });
if (wanted.isWhole && !wanted.kinds.includes("full")) await listMissing();
for (const [need, tests] of [...notRun].sort()) console.log(`not run: ${remedyFor(need)}. Tests: ${tests.join(", ")}`);
const result = failed === undefined ? "passed" : `${failed} failed`;
console.log(`${wanted.command}: ${result} after ${seconds(began)} (${durations.join(", ")})`);

/** The name of the step that failed. */
async function runAll(): Promise<string | undefined> {
  const builder = await buildTools();
  try {
    for (const script of wanted.scripts) if (!(await succeeds(npmScript(script)))) return script;
    let isBuilt = false;
    for (const name of wanted.kinds) {
      if (KINDS[name].built && !isBuilt && !(await succeeds(npmScript("build")))) return "build";
      isBuilt ||= KINDS[name].built;
      for await (const step of stepsOf(name, builder)) if (!(await succeeds(step))) return step.name;
    }
    if ((await builder?.ended) === 0 || builder === undefined) return undefined;
    process.exitCode = 1;
    return TOOLS;
  } finally {
    await builder?.stop();
  }
}

/** Runs a step, and keeps how long it took and how it ended. */
async function succeeds(step: Step): Promise<boolean> {
  const started = performance.now();
  const code = await run(step);
  durations.push(`${step.name} ${seconds(started)}`);
  if (code !== 0) process.exitCode = code;
  return code === 0;
}

function npmScript(name: string): Step {
  return { name, command: "npm", args: ["run", "--silent", name] };
}

/** Tests that need a program that is still being built come last. */
async function* stepsOf(name: KindName, builder: Builder | undefined): AsyncGenerator<Step> {
  const kind: Kind = KINDS[name];
  const tests = testsWithNeeds(kind)?.filter(isSelected);
  if (tests === undefined) {
    const folders = wanted.filters.length > 0 ? wanted.filters : (kind.folders ?? []);
    yield testStep(name, `${name} tests`, [...folders]);
    return;
  }
  let rest = tests;
  if (builder !== undefined && !builder.hasEnded()) {
    const ready = tests.filter((test) => needsOf(test).every((need) => !isTool(need)));
    rest = tests.filter((test) => !ready.includes(test));
    const runnable = await withPrograms(ready);
    if (runnable.length > 0) yield testStep(name, `${name} tests without tools`, runnable);
    if (rest.length > 0) await builder.ended;
  }
  const runnable = await withPrograms(rest);
  if (runnable.length > 0) yield testStep(name, `${name} tests`, runnable);
}

function isSelected(test: string): boolean {
  return wanted.filters.length === 0 || wanted.filters.some((part) => test.includes(part));
}

function testStep(kind: KindName, name: string, paths: readonly string[]): Step {
  const { project, long, config, program }: Kind = KINDS[kind];
  const report = `--outputFile.blob=${join(reports, `${name.replaceAll(" ", "-")}.json`)}`;
  // Reports of different configurations cannot be put together.
  const reporters = config === undefined ? ["--reporter=default", "--reporter=blob", report] : wanted.forReport;
  const where = config === undefined ? `--project=${project}` : `--config=${config}`;
  const variables = { ...(wanted.isLong ? { "": "1" } : {}), ...wanted.variables };
  const entries = long === undefined ? [] : Object.entries(variables).map(([end, value]) => [`${long}${end}`, value]);
  const env = { ...wanted.env, ...Object.fromEntries(entries) };
  if (program !== undefined) return { name, command: process.execPath, args: [program], env };
  return {
    name,
    command: "vitest",
    args: ["run", where, "--passWithNoTests", ...reporters, ...wanted.options, ...paths],
    env,
  };
}

/** The tests whose programs are there. The others are not run, which the last lines say. */
async function withPrograms(tests: readonly string[]): Promise<string[]> {
  const runnable: string[] = [];
  for (const test of tests) {
    const missing: string[] = [];
    for (const need of needsOf(test)) if (!(await isThere(need))) missing.push(need);
    if (missing.length === 0) runnable.push(test);
    for (const need of missing) notRun.set(need, [...(notRun.get(need) ?? []), test]);
  }
  return runnable;
}

async function isThere(need: string): Promise<boolean> {
  return isTool(need) ? hasTool(need) : (await findChromium()) !== undefined;
}

function remedyFor(need: string): string {
  return isTool(need) ? `${need} is not built: node ${BUILD} ${need}` : NO_CHROMIUM;
}

/** What `npm run test:full` would run here only after a build or an installation. */
async function listMissing(): Promise<void> {
  for (const name of ["full", "page"] as const) await withPrograms(testsWithNeeds(KINDS[name]) ?? []);
}

/** Starts to build the tools that the selected tests need and the machine does not have. Undefined: it has all. */
async function buildTools(): Promise<Builder | undefined> {
  const tests = wanted.kinds.flatMap((name) => testsWithNeeds(KINDS[name]) ?? []).filter(isSelected);
  const absent: string[] = [];
  for (const need of new Set(tests.flatMap(needsOf))) if (isTool(need) && !(await hasTool(need))) absent.push(need);
  if (absent.length === 0) return undefined;
  const child = spawn(process.execPath, [BUILD, ...absent], {
    stdio: ["ignore", "ignore", "inherit"],
    env: { ...process.env, GOMAXPROCS: String(COMPILER_CORES) },
  });
  if (child.pid !== undefined) setPriority(child.pid, LOW_PRIORITY);
  const forward = (signal: NodeJS.Signals) => void child.kill(signal);
  for (const signal of SIGNALS) process.on(signal, forward);
  const ended = once(child, "close").then(([code]) => {
    for (const signal of SIGNALS) process.off(signal, forward);
    return Number(code ?? 1);
  });
  return {
    ended,
    hasEnded: () => child.exitCode !== null || child.signalCode !== null,
    stop: () => {
      child.kill();
      return ended;
    },
  };
}

/** The exit code; 1 for a signal or a program that cannot be started. */
function run({ command, args, env = {} }: Step): Promise<number> {
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio: "inherit", env: { ...process.env, ...env } });
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

function seconds(since: number): string {
  return `${Math.round((performance.now() - since) / 1000)} s`;
}
