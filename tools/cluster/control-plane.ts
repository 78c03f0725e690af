import { access } from "node:fs/promises";
import type { Binaries } from "./binaries.ts";
import { complete, findProgram, pathFolders, programNames } from "./binaries.ts";
import { cacheFolder } from "./cache.ts";
import type { Provider, ProviderContext } from "./provider.ts";
import { assets } from "./providers/assets.ts";
import { build } from "./providers/build.ts";
import { cached } from "./providers/cached.ts";
import { envtest } from "./providers/envtest.ts";
import { existing } from "./providers/existing.ts";
import { kind } from "./providers/kind.ts";
import { type Running, runBinaries } from "./run-binaries.ts";
import { runProgram } from "./run-program.ts";

/** A running control plane without nodes. */
export type ControlPlane = {
  /** Path of a kubeconfig whose user may do everything. */
  kubeconfig: string;
  /** Path of a kubectl that was seen to work with it. */
  kubectl: string;
  /** Its folder, with a log per program; gone after `stop`. */
  dir: string;
  /** Where it came from: a name of `providers`. */
  provider: string;
  /** Ends every process and removes the folder (an existing cluster is left alone). May be called again. */
  stop(): Promise<void>;
};

/** Where a control plane may come from; the first that works is used. */
export const providers: readonly Provider[] = [existing, assets, cached, envtest(), build, kind];

export type StartOptions = { log?: (line: string) => void; signal?: AbortSignal };

/**
 * Starts a control plane that is ready for use: the API server answers, the namespace `default` and its service account exist. It ends
 * with this process, whichever way that ends. Several may run side by side.
 *
 * `MOORING_CONTROL_PLANE`, a comma-separated list of provider names, leaves out all others.
 *
 * @throws Error with every provider's reason when none works; `signal`'s reason when it aborts.
 */
export async function startControlPlane({ log = logToStderr, signal }: StartOptions = {}): Promise<ControlPlane> {
  const { env } = process;
  const context: ProviderContext = { env, cache: cacheFolder(env), log, signal };
  const { running, provider, kubectl: ownKubectl } = await startFirst(selected(env.MOORING_CONTROL_PLANE), context);
  try {
    const kubectl = await workingKubectl(running.kubeconfig, ownKubectl, env.PATH);
    return { ...running, kubectl, provider };
  } catch (error) {
    await running.stop();
    throw error;
  }
}

type Started = { running: Running; provider: string; kubectl: string | undefined };

async function startFirst(candidates: readonly Provider[], context: ProviderContext): Promise<Started> {
  const reasons: string[] = [];
  // Programs without a controller manager, which a later provider may have.
  let partial: { binaries: Binaries; provider: string } | undefined;
  for (const provider of candidates) {
    context.signal?.throwIfAborted();
    if (partial !== undefined && provider.lastResort === true) {
      continue;
    }
    const found = await provider.find(context);
    if (found.kind === "nothing") {
      reasons.push(`${provider.name}: ${found.reason}`);
      continue;
    }
    if (found.kind === "cluster") {
      context.log(`using ${provider.name}: ${found.cluster.kubeconfig}`);
      return { running: found.cluster, provider: provider.name, kubectl: undefined };
    }
    partial = {
      binaries: partial === undefined ? found.binaries : complete(partial.binaries, found.binaries),
      provider: partial?.provider ?? provider.name,
    };
    if (partial.binaries.controllerManager !== undefined) {
      break;
    }
    context.log(`${provider.name}: no ${programNames.controllerManager} in it, looking further for one`);
  }
  if (partial === undefined) {
    throw new Error(`no control plane to be had:\n${reasons.map((reason) => `  ${reason}`).join("\n")}`);
  }
  const { binaries, provider } = partial;
  if (binaries.controllerManager === undefined) {
    context.log(`no ${programNames.controllerManager}: namespaces do not end and nothing is garbage collected`);
  }
  const start = performance.now();
  const running = await runBinaries(binaries, context.log, context.signal);
  context.log(`ready after ${((performance.now() - start) / 1000).toFixed(1)} s (${provider}), in ${running.dir}`);
  return { running, provider, kubectl: binaries.kubectl };
}

/** The providers named in `list`, in the usual order; all of them when it is not set. */
export function selected(list: string | undefined): readonly Provider[] {
  if (list === undefined || list.trim() === "") {
    return providers;
  }
  const names = list.split(",").map((name) => name.trim());
  const known = providers.map(({ name }) => name);
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0) {
    throw new Error(`MOORING_CONTROL_PLANE: no provider called ${unknown.join(", ")}; there are ${known.join(", ")}`);
  }
  return providers.filter(({ name }) => names.includes(name));
}

/** The machine's kubectl if it can read the cluster (a different version or a wrapper may not), else the control plane's own. */
async function workingKubectl(kubeconfig: string, own: string | undefined, path: string | undefined): Promise<string> {
  const machines = await findProgram(programNames.kubectl, pathFolders(path));
  const failures: string[] = [];
  for (const kubectl of [machines, own]) {
    if (kubectl === undefined) {
      continue;
    }
    try {
      await access(kubectl);
      await runProgram(kubectl, ["--kubeconfig", kubeconfig, "get", "namespace", "default"], { timeoutMs: 60_000 });
      return kubectl;
    } catch (error) {
      failures.push(error instanceof Error ? error.message : String(error));
    }
  }
  throw new Error(["no kubectl that works with the control plane: put one on PATH", ...failures].join("\n"));
}

function logToStderr(line: string): void {
  process.stderr.write(`control plane: ${line}\n`);
}
