/** Runs the seeds of `--seeds 1,2,3` and prints one line of JSON for each. Started by main.ts and mutants/random. */

import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { changeBy } from "./mutants/change.ts";
import { takeReached } from "./mutants/random/marks.ts";
import type { SeedReport } from "./report.ts";

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "1" },
    mutant: { type: "string" },
    places: { type: "string" },
    log: { type: "boolean", default: false },
    until: { type: "string", default: "Infinity" },
    twice: { type: "boolean", default: false },
    hours: { type: "string" },
  },
});

const { mutant, places } = values;
if (mutant !== undefined || places !== undefined) changeSources();
// Loaded after the hooks are in place.
const { planOf } = await import("./scenario/plan.ts");
const { runPlan } = await import("./scenario/run.ts");

// Nobody reads the stacks of errors, and they take time. The digest of a run does not depend on them.
if (!values.log) Error.stackTraceLimit = 0;

const hours = values.hours === undefined ? undefined : Number(values.hours);
for (const seed of values.seeds.split(",").map(Number)) {
  if (Date.now() >= Number(values.until)) break;
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
  const reached = places === undefined ? undefined : takeReached();
  const tookMs = performance.now() - began;
  const report: SeedReport = { seed, ...rest, counts: Object.fromEntries(counts), tookMs, reached };
  process.stdout.write(`${JSON.stringify(report)}\n`);
}

/** Changes the source of a file as it is loaded. */
function changeSources(): void {
  const change = changeBy({ mutant, places });
  registerHooks({
    load(url, context, next) {
      const loaded = next(url, context);
      const source = url.startsWith("file:") ? change(fileURLToPath(url), String(loaded.source)) : undefined;
      return source === undefined ? loaded : { ...loaded, source };
    },
  });
}
