import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { stringify } from "yaml";
import { z } from "zod";
import { runProgram } from "../tools/cluster/run-program.ts";
import { tool } from "../tools/programs/tool.ts";
import { type BenchCluster, type BenchOptions, NAMESPACE, startBenchCluster } from "./cluster.ts";
import { type Drain, type DrainRound, ENGINES, type Engine } from "./figures.ts";
import { describeMachine } from "./machine.ts";
import { endpoint } from "./manifests.ts";
import { OPERATOR_FLAGS, type OperatorCommand, operatorCommand } from "./pod.ts";

export type DrainOptions = BenchOptions & { objects: number; rounds: number; finalizer: boolean };

const TIMEOUT = "900s";
const WORKERS = 64;

const driverResult = z.object({
  done: z.number(),
  started_ms: z.number(),
  drain_s: z.number(),
  first_s: z.number(),
  cpu_ms_per_object: z.number(),
  peak_rss_mib: z.number(),
});

/**
 * Compares Mooring with a controller of the same kind that is written with controller-runtime, in alternation: each drains N new
 * objects (create the remote endpoint, read it, write the status), on the same API server.
 */
export async function measureDrain(options: DrainOptions): Promise<Drain> {
  const { objects, rounds, finalizer, say, signal } = options;
  const cluster = await startBenchCluster(options);
  try {
    const machine = await describeMachine(cluster.kubectl);
    const template = await writeTemplate(cluster, finalizer);
    const { access, command } = await mooringCommand(cluster);
    const { baseURL } = cluster.remote;
    const peer = await tool("bench-peer");
    const { kubeconfig } = cluster.controlPlane;
    const peerFlags = [
      `-workers=${WORKERS}`,
      `-finalizer=${finalizer}`,
      `-base=${baseURL}`,
      `-kubeconfig=${kubeconfig}`,
    ];
    const commands: Record<Engine, readonly string[]> = {
      "controller-runtime": [peer, ...peerFlags],
      Mooring: command,
    };
    const measured: Record<Engine, DrainRound[]> = { "controller-runtime": [], Mooring: [] };
    for (let round = 1; round <= rounds; round++) {
      for (const engine of ENGINES) {
        signal.throwIfAborted();
        const one = await measureRound(cluster, { template, command: commands[engine], objects, signal });
        measured[engine].push(one);
        say(`${objects} objects, round ${round}, ${engine}: ${JSON.stringify(one)}`);
      }
    }
    return { machine, objects, finalizer, access, rounds: measured };
  } finally {
    await cluster.stop();
  }
}

/** The command of the measured operator. Node gets the flags of the image and `nodeFlags`. */
export async function mooringCommand(
  cluster: BenchCluster,
  nodeFlags: readonly string[] = [],
): Promise<OperatorCommand> {
  const { access, command } = await operatorCommand(cluster, nodeFlags);
  return { access, command: [...command, ...OPERATOR_FLAGS, "--metrics-bind-address=127.0.0.1:0"] };
}

/** Writes the manifest of the objects, in which the driver replaces NAME. Returns its path. */
export async function writeTemplate({ guarded }: BenchCluster, finalizer: boolean): Promise<string> {
  const { spec, ...one } = endpoint("NAME");
  const manifest = {
    ...one,
    metadata: { name: "NAME", namespace: NAMESPACE },
    // The remote has no workers.
    spec: { ...spec, workers: { ...spec.workers, min: 0 }, deletionPolicy: finalizer ? "ScaleToZero" : "Retain" },
  };
  const template = join(guarded.dir, "endpoint.yaml");
  await writeFile(template, stringify(manifest));
  return template;
}

type Run = { template: string; command: readonly string[]; objects: number; signal: AbortSignal };

/** Removes the objects of the run before, then creates new ones and starts the engine. */
export async function measureRound(
  cluster: BenchCluster,
  { template, command, objects, signal }: Run,
): Promise<DrainRound> {
  const { guarded, remote, controlPlane } = cluster;
  const driver = await tool("bench-driver");
  const common = [`-kubeconfig=${controlPlane.kubeconfig}`, `-ns=${NAMESPACE}`, `-template=${template}`];
  await runProgram(driver, [...common, "-mode=delete"], { signal });
  await remote.reset();
  const log = join(guarded.dir, "operator.log");
  const before = await apiServerSeconds(cluster);
  const args = [...common, `-n=${objects}`, `-timeout=${TIMEOUT}`, `-log=${log}`, "--", ...command];
  const printed = await runProgram(driver, args, { signal });
  const after = await apiServerSeconds(cluster);
  const result = driverResult.parse(JSON.parse(printed.trim().split("\n").at(-1) ?? ""));
  if (result.done !== objects) throw new Error(`${result.done} of ${objects} objects are ready: ${printed}`);
  const { create = 0, first_call_ms = Number.NaN } = await remote.stats();
  return {
    drainSeconds: result.drain_s,
    firstSeconds: result.first_s,
    firstCallSeconds: (first_call_ms - result.started_ms) / 1_000,
    cpuMsPerObject: result.cpu_ms_per_object,
    peakMiB: result.peak_rss_mib,
    apiServerMsPerObject: ((after - before) * 1_000) / objects,
    duplicates: create - objects,
  };
}

async function apiServerSeconds({ kubectl }: BenchCluster): Promise<number> {
  const metrics = await kubectl("get", "--raw", "/metrics");
  return Number(/^process_cpu_seconds_total (\S+)$/m.exec(metrics)?.[1]);
}
