import { cpus, loadavg, release, totalmem } from "node:os";
import { z } from "zod";
import { rfc3339 } from "../src/base/clock.ts";
import { runProgram } from "../tools/cluster/run-program.ts";

/** What a measurement ran on. Names no host and no path. */
export const machine = z.object({
  cores: z.number(),
  cpu: z.string(),
  memoryGiB: z.number(),
  kernel: z.string(),
  node: z.string(),
  go: z.string(),
  /** "" for a measurement without a cluster. */
  kubernetes: z.string(),
  /** Processes that were ready to run, on average of the minute before the measurement. */
  load: z.number(),
  /** RFC 3339, UTC. */
  date: z.string(),
});
export type Machine = z.output<typeof machine>;

const versions = z.object({ serverVersion: z.object({ gitVersion: z.string() }) });

/**
 * Describes the machine that the measurement runs on, with its load.
 * @param kubectl runs kubectl with the kubeconfig of the measurement; without it, there is no cluster
 */
export async function describeMachine(kubectl?: (...args: string[]) => Promise<string>): Promise<Machine> {
  const [cpu] = cpus();
  const printed = await kubectl?.("version", "--output=json");
  const kubernetes = printed === undefined ? "" : versions.parse(JSON.parse(printed)).serverVersion.gitVersion;
  const go = await runProgram("go", ["env", "GOVERSION"]).catch(() => "");
  return {
    cores: cpus().length,
    cpu: cpu?.model.trim() ?? "unknown",
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    kernel: release().split("-", 1)[0] ?? "",
    node: process.versions.node,
    go: go.trim().replace(/^go/, ""),
    kubernetes,
    load: loadavg()[0] ?? 0,
    date: rfc3339(Date.now()),
  };
}
