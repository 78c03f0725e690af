/**
 * `npm run test:sim -- [--seeds N] [--from SEED]`: simulates the operator, its cluster and the remote service.
 *
 * --seeds N      how many seeds, default 200
 * --from SEED    the first seed, default 1
 * --hours N      each seed lasts N simulated hours, with minutes between faults; default: minutes, with seconds between them
 * --minutes N    starts no further seed after this time; default: all seeds run
 * --twice        runs each seed twice: both must have the same trace
 * --workers N    processes, default: one for each core
 * --mutant NAMES disables guards of the operator (test/sim/mutants), one after the other; each must be noticed
 * --mutants      the same for all guards
 * --log          prints the trace and the logs; for one seed
 */
import { type ChildProcess, spawn } from "node:child_process";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { MUTANTS, mutantNamed } from "./mutants/all.ts";
import { printTable } from "./mutants/table.ts";
import { type SeedReport, totalsOf, totalsText } from "./report.ts";
import { planOf } from "./scenario/plan.ts";
import { runPlan } from "./scenario/run.ts";
import { shrink, sizeOf } from "./scenario/shrink.ts";

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "200" },
    from: { type: "string", default: "1" },
    hours: { type: "string" },
    minutes: { type: "string", default: "Infinity" },
    twice: { type: "boolean", default: false },
    workers: { type: "string", default: String(availableParallelism()) },
    mutant: { type: "string" },
    mutants: { type: "boolean", default: false },
    log: { type: "boolean", default: false },
  },
});
const seeds = Number(values.seeds);
const from = Number(values.from);
const hours = values.hours === undefined ? undefined : Number(values.hours);
const until = Date.now() + Number(values.minutes) * 60_000;

type Search = { mutant?: string | undefined; stopAtFirst: boolean };

/**
 * Seeds that a process runs. An operator that crashes in the simulation leaves its signals behind, and Node never frees one that has
 * listeners: a process grows by some MB with each seed.
 */
const SEEDS_PER_PROCESS = 100;

/** Runs the seeds in several processes at once. */
async function runSeeds({ mutant, stopAtFirst }: Search): Promise<SeedReport[]> {
  const workers = Math.min(seeds, Number(values.workers));
  const reports: SeedReport[] = [];
  const children = new Set<ChildProcess>();
  let stopped = false;

  async function runWorker(first: number, count: number): Promise<void> {
    const every = Array.from({ length: count }, (_, index) => first + index * workers);
    const args = ["--seeds", every.join(","), "--until", String(until)];
    if (mutant !== undefined) args.push("--mutant", mutant);
    if (hours !== undefined) args.push("--hours", String(hours));
    if (values.log) args.push("--log");
    if (values.twice) args.push("--twice");
    const program = join(import.meta.dirname, "worker.ts");
    const child = spawn(process.execPath, [program, ...args], { stdio: ["ignore", "pipe", "inherit"] });
    children.add(child);
    const exited = new Promise<number | null>((resolve) => child.once("exit", resolve));
    for await (const line of createInterface({ input: child.stdout })) {
      const report: SeedReport = JSON.parse(line);
      reports.push(report);
      if (report.violation === undefined) continue;
      if (!stopAtFirst) console.log(`seed ${report.seed}: ${report.violation.invariant}: ${report.violation.message}`);
      else {
        stopped = true;
        for (const one of children) one.kill();
      }
    }
    const code = await exited;
    children.delete(child);
    if (code !== 0 && code !== null) throw new Error(`a worker ended with ${code}`);
  }

  /** Every `workers`th seed from `first` on. */
  async function runShare(first: number, count: number): Promise<void> {
    for (let done = 0; done < count && !stopped && Date.now() < until; done += SEEDS_PER_PROCESS) {
      await runWorker(first + done * workers, Math.min(SEEDS_PER_PROCESS, count - done));
    }
  }

  await Promise.all(Array.from({ length: workers }, (_, i) => runShare(from + i, Math.ceil((seeds - i) / workers))));
  return reports.sort((a, b) => a.seed - b.seed);
}

async function runAll(): Promise<void> {
  const began = performance.now();
  const reports = await runSeeds({ stopAtFirst: false });
  const totals = totalsOf(reports);
  console.log(totalsText(totals, performance.now() - began));
  const [first] = totals.failed;
  if (first === undefined) return;
  process.exitCode = 1;
  await explain(first);
}

/** Prints the smallest plan that fails like a seed. */
async function explain({ seed, violation, digest }: SeedReport): Promise<void> {
  const plan = planOf(seed, hours);
  const again = await runPlan(plan);
  console.log(
    again.digest === digest
      ? `seed ${seed} replays exactly`
      : `seed ${seed} does NOT replay: a defect of the simulation`,
  );
  const stillFails = async (candidate: typeof plan) =>
    (await runPlan(candidate)).violation?.invariant === violation?.invariant;
  const smallest = await shrink(again.plan, stillFails);
  const result = await runPlan(smallest.plan);
  console.log(`shrunk from ${sizeOf(again.plan)} to ${sizeOf(smallest.plan)} parts in ${smallest.runs} runs:`);
  console.log(JSON.stringify(smallest.plan, null, 1));
  console.log(
    result.lastLines
      .filter((line) => !line.includes("/leases/"))
      .slice(-60)
      .join("\n"),
  );
  console.log(`${result.violation?.invariant} at ${result.violation?.atMs} ms: ${result.violation?.message}`);
  const length = hours === undefined ? "" : ` --hours ${hours}`;
  console.log(`replay: npm run test:sim -- --from ${seed} --seeds 1${length} --log`);
}

const guards = values.mutants ? MUTANTS : (values.mutant?.split(",").map(mutantNamed) ?? []);
if (guards.length === 0) await runAll();
else {
  const simulate = (mutant: string) => runSeeds({ mutant, stopAtFirst: true });
  if ((await printTable(guards, simulate)) > 0) process.exitCode = 1;
}
