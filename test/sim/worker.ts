/** Runs seeds and prints one line of JSON for each. Started by main.ts. */

import { registerHooks } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { mutantNamed } from "./mutants/all.ts";
import { mutated, ROOT } from "./mutants/mutant.ts";
import type { SeedReport } from "./report.ts";

const { values } = parseArgs({
  options: {
    from: { type: "string" },
    seeds: { type: "string" },
    step: { type: "string", default: "1" },
    mutant: { type: "string" },
    log: { type: "boolean", default: false },
    until: { type: "string", default: "Infinity" },
    twice: { type: "boolean", default: false },
    hours: { type: "string" },
  },
});

if (values.mutant !== undefined) disableGuard(values.mutant);
// Loaded after the hooks are in place.
const { planOf } = await import("./scenario/plan.ts");
const { runPlan } = await import("./scenario/run.ts");

// Nobody reads the stacks of errors, and they take time. The digest of a run does not depend on them.
if (!values.log) Error.stackTraceLimit = 0;

const step = Number(values.step);
const hours = values.hours === undefined ? undefined : Number(values.hours);
for (let i = 0; i < Number(values.seeds) && Date.now() < Number(values.until); i++) {
  const seed = Number(values.from) + i * step;
  const began = performance.now();
  // The logs of every eighth seed are searched for secrets.
  const logged = values.log || seed % 8 === 0;
  const show = (line: string) => void process.stderr.write(line.endsWith("\n") ? line : `${line}\n`);
  const result = await runPlan(planOf(seed, hours), {
    ...(logged ? { logLevel: "debug" } : {}),
    ...(values.log ? { onLog: show, onTrace: show } : {}),
  });
  const again = values.twice ? await runPlan(planOf(seed, hours)) : result;
  if (again.digest !== result.digest) {
    result.violation ??= { invariant: "Replays", message: "a second run has another trace", atMs: 0 };
  }
  const { plan: _plan, counts, lastLines: _lines, ...rest } = result;
  const report: SeedReport = { seed, ...rest, counts: Object.fromEntries(counts), tookMs: performance.now() - began };
  process.stdout.write(`${JSON.stringify(report)}\n`);
}

/** Replaces the source of a guard as it is loaded. */
function disableGuard(name: string): void {
  const mutant = mutantNamed(name);
  const target = pathToFileURL(join(ROOT, mutant.file)).href;
  registerHooks({
    load(url, context, next) {
      const loaded = next(url, context);
      return url === target ? { ...loaded, source: mutated(mutant, String(loaded.source)) } : loaded;
    },
  });
}
