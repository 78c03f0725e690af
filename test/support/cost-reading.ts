import { mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { eventually, type Operator } from "./world.ts";

const readingSchema = z.object({
  /** Counts the readings. */
  readings: z.number(),
  /** Of JavaScript objects, since the start of the process. */
  allocatedBytes: z.number(),
  /** The size of each file that the process has loaded, by its path. */
  files: z.record(z.string(), z.number()),
});
export type CostReading = z.infer<typeof readingSchema>;

export type CostProbe = {
  /** For `StartOptions.within`. */
  within: string[];
  read(operator: Operator): Promise<CostReading>;
};

/** Loads cost-probe.ts into one operator. */
export async function createCostProbe(): Promise<CostProbe> {
  const file = join(await mkdtemp(join(tmpdir(), "mooring-costs-")), "reading.json");
  const module = fileURLToPath(new URL("cost-probe.ts", import.meta.url));
  let readings = 0;
  return {
    within: ["env", `NODE_OPTIONS=--import=${module} --max-semi-space-size=4`, `COST_PROBE_FILE=${file}`],
    async read({ pid }) {
      process.kill(pid, "SIGUSR2");
      const reading = await eventually("the probe of the operator answers", async () => {
        const latest = readingSchema.parse(JSON.parse(await readFile(file, "utf8")));
        return latest.readings > readings && latest;
      });
      readings = reading.readings;
      return reading;
    },
  };
}
