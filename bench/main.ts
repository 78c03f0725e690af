/**
 * Measures Mooring, adds the figures to bench/figures.json, and writes docs/performance.md with its plots from all figures there.
 * Run: npm run bench -- [--objects 2000,10000] [--rounds 3] [--finalizer] [--profile] [--scale 1000,3000] [--calm 75] [--rest 120]
 * Without --objects and --scale: 2,000 objects in three rounds. With --report alone: no measurement.
 * With --profile: one round of Mooring with V8's profiler, instead of the comparison.
 */
import { parseArgs } from "node:util";
import { BENCH_TOOLS, prepareTools } from "../tools/programs/tool.ts";
import { measureDrain } from "./drain.ts";
import { readFigures, withDrain, withProfile, withScalePoint, writeFigures } from "./figures.ts";
import { measureProfile } from "./profile.ts";
import { writeReport } from "./report.ts";
import { measureScale } from "./scale.ts";

const FIGURES = new URL("figures.json", import.meta.url);
/** Finished jobs for each GpuEndpoint. */
const JOB_SHARE = 0.1;

const { values } = parseArgs({
  options: {
    objects: { type: "string" },
    rounds: { type: "string", default: "3" },
    finalizer: { type: "boolean", default: false },
    profile: { type: "boolean", default: false },
    scale: { type: "string" },
    calm: { type: "string", default: "75" },
    rest: { type: "string", default: "120" },
    report: { type: "boolean", default: false },
  },
});
const { rounds, finalizer, calm, rest } = values;
const isDefault = values.objects === undefined && values.scale === undefined && !values.report;
const sizes = sizesIn("objects", values.objects ?? (isDefault ? "2000" : ""));
const scale = sizesIn("scale", values.scale ?? "");

const interrupted = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => interrupted.abort());
const common = { say: (line: string) => void process.stderr.write(`${line}\n`), signal: interrupted.signal };

try {
  await measure();
} catch (error) {
  if (!interrupted.signal.aborted) throw error;
  process.exitCode = 130;
}

/** Writes the figures of a size to the file right after its measurement, so that an interruption loses no other size. */
async function measure(): Promise<void> {
  if (sizes.length + scale.length > 0) await prepareTools(BENCH_TOOLS, common.say);
  for (const objects of sizes) {
    if (values.profile) {
      const profile = await measureProfile({ ...common, objects, finalizer });
      await writeFigures(FIGURES, withProfile(await readFigures(FIGURES), profile));
      continue;
    }
    const drain = await measureDrain({ ...common, objects, rounds: Number(rounds), finalizer });
    await writeFigures(FIGURES, withDrain(await readFigures(FIGURES), drain));
  }
  for (const endpoints of scale) {
    const waits = { calmSeconds: Number(calm), restSeconds: Number(rest) };
    const point = await measureScale({ ...common, endpoints, jobShare: JOB_SHARE, ...waits });
    await writeFigures(FIGURES, withScalePoint(await readFigures(FIGURES), point));
  }
  await writeReport(await readFigures(FIGURES));
}

function sizesIn(flag: string, list: string): number[] {
  const found = list.split(",").flatMap((text) => (text.trim() === "" ? [] : [Number(text)]));
  const wrong = found.find((size) => !Number.isInteger(size) || size < 1);
  if (wrong !== undefined) throw new Error(`--${flag} ${list}: use integers above 0, such as 1000,3000`);
  return found;
}
