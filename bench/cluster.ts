import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { stringify } from "yaml";
import { z } from "zod";
import { type ControlPlane, startControlPlane } from "../tools/cluster/control-plane.ts";
import { type Guarded, startGuarded } from "../tools/cluster/guarded.ts";
import { freePorts } from "../tools/cluster/ports.ts";
import { runProgram } from "../tools/cluster/run-program.ts";
import { waitUntil } from "../tools/cluster/wait-until.ts";
import { tool } from "../tools/programs/tool.ts";

/** Namespace of the measured objects, of their account and of the operator. */
export const NAMESPACE = "bench";
export const BUNDLE = fileURLToPath(new URL("../dist/mooring.mjs", import.meta.url));
const CRDS = fileURLToPath(new URL("../crds", import.meta.url));
const START_TIMEOUT_MS = 30_000;

const stats = z.record(z.string(), z.number());

/** A new control plane with the kinds, a minimal remote service, and an account without a rate limit that matters. */
export type BenchCluster = {
  controlPlane: ControlPlane;
  guarded: Guarded;
  kubectl(...args: string[]): Promise<string>;
  remote: {
    baseURL: string;
    /** Calls by operation since the last reset, and what `NO_CALLS` lists. */
    stats(): Promise<Record<string, number>>;
    reset(): Promise<void>;
  };
  stop(): Promise<void>;
};

/** Names of the remote's stats that are not operations: numbers of objects, and the time of the first call (Unix, ms). */
const NO_CALLS: readonly string[] = ["endpoints", "tasks", "duplicates", "first_call_ms"];

/** All calls in the stats of the remote. */
export function callsIn(stats: Record<string, number>): number {
  return Object.entries(stats).reduce((sum, [name, count]) => sum + (NO_CALLS.includes(name) ? 0 : count), 0);
}

export type BenchOptions = { say: (line: string) => void; signal: AbortSignal };

export async function startBenchCluster({ say, signal }: BenchOptions): Promise<BenchCluster> {
  const controlPlane = await startControlPlane({ log: say, signal });
  let guarded: Guarded | undefined;
  try {
    guarded = await startGuarded();
    return await fill(controlPlane, guarded, signal);
  } catch (error) {
    await guarded?.stop();
    await controlPlane.stop();
    throw error;
  }
}

async function fill(controlPlane: ControlPlane, guarded: Guarded, signal: AbortSignal): Promise<BenchCluster> {
  const remote = await startRemote(guarded);
  const kubectl = (...args: string[]) =>
    runProgram(controlPlane.kubectl, [`--kubeconfig=${controlPlane.kubeconfig}`, ...args], { signal });
  await kubectl("apply", "--server-side", `--filename=${CRDS}`);
  await kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s");
  await kubectl("create", "namespace", NAMESPACE);
  await kubectl("create", "secret", "generic", "key", `--namespace=${NAMESPACE}`, "--from-literal=apiKey=bench");
  const account = join(guarded.dir, "account.yaml");
  await writeFile(account, stringify(accountAt(remote.baseURL)));
  await kubectl("apply", `--filename=${account}`);
  return {
    controlPlane,
    guarded,
    kubectl,
    remote,
    async stop() {
      await guarded.stop();
      await controlPlane.stop();
    },
  };
}

async function startRemote(guarded: Guarded): Promise<BenchCluster["remote"]> {
  const baseURL = `http://127.0.0.1:${(await freePorts(1))[0]}`;
  await guarded.start("remote", await tool("bench-remote"), ["-addr", new URL(baseURL).host]);
  const readStats = () => fetch(`${baseURL}/__stats`);
  const answers = () =>
    readStats().then(
      ({ ok }) => ok,
      () => false,
    );
  await waitUntil("the remote service answers", answers, { timeoutMs: START_TIMEOUT_MS });
  return {
    baseURL,
    stats: async () => stats.parse(await (await readStats()).json()),
    reset: async () => void (await fetch(`${baseURL}/__reset`, { method: "POST" })),
  };
}

function accountAt(baseURL: string): object {
  return {
    apiVersion: "mooring.dev/v1alpha1",
    kind: "Account",
    metadata: { name: "default", namespace: NAMESPACE },
    spec: {
      baseURL,
      apiKeySecretRef: { name: "key", key: "apiKey" },
      rateLimit: { requestsPerSecond: 100_000, burst: 1_000 },
    },
  };
}
