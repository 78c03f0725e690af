import { cpus, loadavg, release, totalmem } from "node:os";
import { z } from "zod";
import { rfc3339 } from "../src/clock.ts";
import { runProgram } from "../tools/cluster/run-program.ts";
import type { Machine } from "./figures.ts";

const versions = z.object({ serverVersion: z.object({ gitVersion: z.string() }) });

/**
 * Describes the machine that the measurement runs on, with its load.
 * @param kubectl runs kubectl with the kubeconfig of the measurement
 */
export async function describeMachine(kubectl: (...args: string[]) => Promise<string>): Promise<Machine> {
  const [cpu] = cpus();
  const { serverVersion } = versions.parse(JSON.parse(await kubectl("version", "--output=json")));
  const go = await runProgram("go", ["env", "GOVERSION"]).catch(() => "");
  return {
    cores: cpus().length,
    cpu: cpu?.model.trim() ?? "unknown",
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    kernel: release().split("-", 1)[0] ?? "",
    node: process.versions.node,
    go: go.trim().replace(/^go/, ""),
    kubernetes: serverVersion.gitVersion,
    load: loadavg()[0] ?? 0,
    date: rfc3339(Date.now()),
  };
}
