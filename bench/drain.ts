import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { stringify } from "yaml";
import { z } from "zod";
import { runProgram } from "../tools/cluster/run-program.ts";
import { tool } from "../tools/programs/tool.ts";
import { type BenchCluster, type BenchOptions, NAMESPACE, startBenchCluster } from "./cluster.ts";
import type { Drain, DrainRound, Engine, Peer } from "./figures.ts";
import { describeMachine } from "./machine.ts";
import { endpoint } from "./manifests.ts";
import { peerCommand } from "./peers/commands.ts";
import { OPERATOR_FLAGS, type OperatorCommand, operatorCommand } from "./pod.ts";

export type DrainOptions = BenchOptions & {
  objects: number;
  rounds: number;
  /** Prepared ones, with controller-runtime among them. */
  peers: readonly Peer[];
};

const TIMEOUT = "900s";
/** Every engine writes these fields of the status before the object is Ready, so that all write about the same number of bytes. */
const STATUS_FIELDS = [
  ...["account", "appName", "appliedGeneration", "conditions", "createdAt", "endpointID", "lastAppliedTime"],
  ...["observedGeneration", "remote", "selector", "submission", "type", "url", "workers"],
];
/** Output of the engine, in the folder of the cluster. */
const LOG = "operator.log";
/** Last lines of a failed peer's log that are printed. */
const LOG_LINES = 5;

const driverResult = z.object({
  done: z.number(),
  started_ms: z.number(),
  drain_s: z.number(),
  first_s: z.number(),
  cpu_ms_per_object: z.number(),
  api_server_cpu_ms_per_object: z.number(),
  peak_rss_mib: z.number(),
  /** Objects that were done without a field, by field. */
  missing_fields: z.record(z.string(), z.number()),
});

/** An engine did not do the work that is measured. The message names no path. */
class IncompleteDrain extends Error {
  override readonly name = "IncompleteDrain";
}

/**
 * Compares Mooring with peers, controllers of the same kind, in alternation: each drains N new objects (create the remote endpoint, read
 * it, write the status), on the same API server. A peer other than controller-runtime that does less or more has a failure, not rounds.
 */
export async function measureDrain(options: DrainOptions): Promise<Drain> {
  const { objects, rounds, peers, say, signal } = options;
  const cluster = await startBenchCluster(options);
  try {
    const machine = await describeMachine(cluster.kubectl);
    const template = await writeTemplate(cluster);
    const { access, command } = await mooringCommand(cluster);
    const commands = new Map<Engine, readonly string[]>();
    // controller-runtime runs right before Mooring.
    for (const peer of peers.toReversed()) commands.set(peer, await peerCommand(peer, cluster));
    commands.set("Mooring", command);
    const measured: Drain["rounds"] = { "controller-runtime": [], Mooring: [] };
    const failures: NonNullable<Drain["failures"]> = {};
    for (let round = 1; round <= rounds; round++) {
      for (const [engine, command] of commands) {
        signal.throwIfAborted();
        try {
          const one = await measureRound(cluster, { template, command, objects, signal });
          if (isOptional(engine)) refuseDuplicates(one);
          measured[engine] = [...(measured[engine] ?? []), one];
          say(`${objects} objects, round ${round}, ${engine}: ${JSON.stringify(one)}`);
        } catch (error) {
          if (!isOptional(engine) || !(error instanceof IncompleteDrain)) throw error;
          failures[engine] = error.message;
          commands.delete(engine);
          delete measured[engine];
          say(`${objects} objects, round ${round}, ${engine} failed: ${error.message}\n${await lastLines(cluster)}`);
        }
      }
    }
    return { machine, objects, access, rounds: measured, ...(isEmpty(failures) ? {} : { failures }) };
  } finally {
    await cluster.stop();
  }
}

type OptionalPeer = Exclude<Peer, "controller-runtime">;

const isOptional = (engine: Engine): engine is OptionalPeer => engine !== "Mooring" && engine !== "controller-runtime";
const isEmpty = (record: object) => Object.keys(record).length === 0;

function refuseDuplicates({ duplicates }: DrainRound): void {
  if (duplicates !== 0) throw new IncompleteDrain(`${duplicates} duplicate creates`);
}

async function lastLines({ guarded }: BenchCluster): Promise<string> {
  const text = await readFile(join(guarded.dir, LOG), "utf8");
  return text.trimEnd().split("\n").slice(-LOG_LINES).join("\n");
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
export async function writeTemplate({ guarded }: BenchCluster): Promise<string> {
  const { spec, ...one } = endpoint("NAME");
  const manifest = {
    ...one,
    metadata: { name: "NAME", namespace: NAMESPACE },
    // The remote has no workers.
    spec: { ...spec, workers: { ...spec.workers, min: 0 }, deletionPolicy: "ScaleToZero" },
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
  const log = join(guarded.dir, LOG);
  const args = [...common, `-n=${objects}`, `-timeout=${TIMEOUT}`, `-log=${log}`, `-fields=${STATUS_FIELDS}`];
  const printed = await runProgram(driver, [...args, "--", ...command], { signal });
  const result = driverResult.parse(JSON.parse(printed.trim().split("\n").at(-1) ?? ""));
  if (result.done !== objects) {
    throw new IncompleteDrain(`${result.done} of ${objects} objects are Ready`, { cause: printed });
  }
  for (const [field, count] of Object.entries(result.missing_fields)) {
    throw new IncompleteDrain(`${count} of ${objects} objects have no status.${field}`);
  }
  const { create = 0, first_call_ms = Number.NaN } = await remote.stats();
  return {
    drainSeconds: result.drain_s,
    firstSeconds: result.first_s,
    firstCallSeconds: (first_call_ms - result.started_ms) / 1_000,
    cpuMsPerObject: result.cpu_ms_per_object,
    peakMiB: result.peak_rss_mib,
    apiServerMsPerObject: result.api_server_cpu_ms_per_object,
    duplicates: create - objects,
  };
}
