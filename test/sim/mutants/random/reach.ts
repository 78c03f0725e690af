import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { ROOT } from "../mutant.ts";
import type { Mutation } from "./mutations.ts";
import { relatedTests } from "./related.ts";

/** What can notice a mutation: the tests and seeds in which its code runs. */
export type Reach = { tests: readonly string[]; seeds: readonly number[] };

const VITEST = join(ROOT, "node_modules/vitest/vitest.mjs");
const reports = z.array(z.object({ by: z.string(), reached: z.array(z.number()) }));
const seedReports = z.array(
  z.object({ seed: z.number(), reached: z.array(z.number()), violation: z.unknown().optional() }),
);

/** Runs all tests and seeds once. @throws Error when one fails without a mutation */
export async function reachOf(mutations: readonly Mutation[], seeds: readonly number[]): Promise<Reach[]> {
  const folder = await mkdtemp(join(tmpdir(), "mooring-reach-"));
  const [places, reached] = [join(folder, "places"), join(folder, "reached")];
  await writeFile(places, JSON.stringify(mutations.map((mutation, index) => ({ ...mutation, index }))));
  try {
    const env = { MOORING_PLACES: places, MOORING_REACHED: reached };
    await output([VITEST, "run", "--config", "vitest.mutants.config.ts", "--reporter=dot"], env);
    const byTests = reports.parse(linesOf(await readFile(reached, "utf8")));
    const worker = [join(ROOT, "test/sim/worker.ts"), "--seeds", seeds.join(","), "--places", places];
    const ran = new Set(byTests.map(({ by }) => by));
    const bySeeds = seedReports.parse(linesOf(await output(worker, {})));
    const broken = bySeeds.find(({ violation }) => violation !== undefined);
    if (broken !== undefined) throw new Error(`seed ${broken.seed} fails without a mutation`);
    return mutations.map(({ file }, index) => {
      const tests = new Set(byTests.filter((one) => one.reached.includes(index)).map(({ by }) => by));
      // What runs when a file is loaded concerns all that load it.
      const related = relatedTests(file);
      const near = related.filter((test) => (tests.has("") ? ran : tests).has(test));
      return {
        tests: [...new Set([...near, ...tests])].filter((test) => test !== ""),
        seeds: bySeeds.filter((one) => tests.has("") || one.reached.includes(index)).map(({ seed }) => seed),
      };
    });
  } finally {
    await rm(folder, { recursive: true });
  }
}

function linesOf(text: string): unknown[] {
  return text
    .trim()
    .split("\n")
    .map((line): unknown => JSON.parse(line));
}

async function output(args: string[], env: Record<string, string>): Promise<string> {
  const child = spawn(process.execPath, args, { cwd: ROOT, env: { ...process.env, ...env, NO_COLOR: "1" } });
  let text = "";
  child.stdout.on("data", (chunk) => (text += String(chunk)));
  let errors = "";
  child.stderr.on("data", (chunk) => (errors += String(chunk)));
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`fails without a mutation:\n${text.slice(-2_000)}\n${errors.slice(-5_000)}`);
  return text;
}
