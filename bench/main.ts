/**
 * Measures Mooring, adds the figures to bench/figures.json, and writes docs/reference/performance.md with its plots from all figures there.
 * Run: npm run bench -- [flags]; `--help` lists them.
 */
import { BENCH_TOOLS, prepareTools } from "../tools/programs/tool.ts";
import { measureDrain } from "./drain.ts";
import {
  type Figures,
  readFigures,
  withDrain,
  withProfile,
  withScalePoint,
  withScenario,
  writeFigures,
} from "./figures.ts";
import { helpText, parseFlags } from "./flags.ts";
import { preparePeers } from "./peers/commands.ts";
import { measureProfile } from "./profile.ts";
import { writeReport } from "./report.ts";
import { measureScale } from "./scale.ts";
import { SCENARIOS } from "./scenarios.ts";

const FIGURES = new URL("figures.json", import.meta.url);
/** Finished jobs for each GpuEndpoint of the scale. */
const JOB_SHARE = 0.1;

const {
  objects: sizes,
  peers: wanted,
  scale,
  scenarios,
  profile: withProfiler,
  help,
  numbers,
} = parseFlags(process.argv.slice(2));

const interrupted = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => interrupted.abort());
const common = { say: (line: string) => void process.stderr.write(`${line}\n`), signal: interrupted.signal };

try {
  if (help) process.stdout.write(helpText());
  else await measure();
} catch (error) {
  if (!interrupted.signal.aborted) throw error;
  process.exitCode = 130;
}

async function measure(): Promise<void> {
  if (sizes.length + scale.length > 0) await prepareTools(BENCH_TOOLS, common.say);
  const peers = sizes.length > 0 && !withProfiler ? await preparePeers(wanted, common.say) : [];
  const { rounds = 3, calm = 75, rest = 120 } = numbers;
  for (const objects of sizes) {
    if (withProfiler) {
      const profile = await measureProfile({ ...common, objects });
      await add((figures) => withProfile(figures, profile));
      continue;
    }
    const drain = await measureDrain({ ...common, objects, rounds, peers });
    await add((figures) => withDrain(figures, drain));
  }
  for (const endpoints of scale) {
    const waits = { calmSeconds: calm, restSeconds: rest };
    const point = await measureScale({ ...common, endpoints, jobShare: JOB_SHARE, ...waits });
    await add((figures) => withScalePoint(figures, point));
  }
  for (const name of scenarios) {
    const scenario = SCENARIOS[name];
    await prepareTools(scenario.tools, common.say);
    const measurement = await scenario.measure(common, numbers);
    common.say(JSON.stringify(measurement));
    await add((figures) => withScenario(figures, measurement));
  }
  await writeReport(await readFigures(FIGURES));
}

/** Writes to the file right after each measurement, so that an interruption loses no other one. */
async function add(change: (figures: Figures) => Figures): Promise<void> {
  await writeFigures(FIGURES, change(await readFigures(FIGURES)));
}
