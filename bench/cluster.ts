import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { stringify } from "yaml";
import { createKubeClient, type KubeClient } from "../src/kube/client.ts";
import { loadCredentials } from "../src/kube/credentials.ts";
import type { KubeObject } from "../src/kube/types.ts";
import { type ControlPlane, startControlPlane } from "../tools/cluster/control-plane.ts";
import { type Guarded, startGuarded } from "../tools/cluster/guarded.ts";
import { runProgram } from "../tools/cluster/run-program.ts";
import { API_KEY, type MinimalRemote, startMinimalRemote } from "./remotes.ts";

/** Namespace of the measured objects, of their account and of the operator. */
export const NAMESPACE = "bench";
const CRDS = fileURLToPath(new URL("../crds", import.meta.url));

/** Of an account: no measurement reaches it. */
export const UNREACHED_RATE = { requestsPerSecond: 100_000, burst: 1_000 };

/** A new control plane with the kinds, a remote service, and an account. */
export type Cluster<R extends { baseURL: string }> = {
  controlPlane: ControlPlane;
  guarded: Guarded;
  kubectl(...args: string[]): Promise<string>;
  remote: R;
  stop(): Promise<void>;
};
export type BenchCluster = Cluster<MinimalRemote>;
/** What a process of the measurement needs of a cluster. */
export type ClusterAccess = Pick<BenchCluster, "guarded" | "controlPlane">;

/** A client of the measurement's own, whose requests no figure counts. */
export async function clientOf({ controlPlane: { kubeconfig } }: ClusterAccess): Promise<KubeClient> {
  return createKubeClient(await loadCredentials({ kubeconfig }));
}

export type BenchOptions = { say: (line: string) => void; signal: AbortSignal };
export type ClusterOptions<R> = BenchOptions & {
  startRemote: (guarded: Guarded) => Promise<R>;
  /** Of the account. Default: one that no measurement reaches. */
  rateLimit?: { requestsPerSecond: number; burst: number };
};

/** With the minimal remote service. */
export function startBenchCluster(options: BenchOptions): Promise<BenchCluster> {
  return startCluster({ ...options, startRemote: startMinimalRemote });
}

export async function startCluster<R extends { baseURL: string }>(options: ClusterOptions<R>): Promise<Cluster<R>> {
  const { say, signal } = options;
  const controlPlane = await startControlPlane({ log: say, signal });
  let guarded: Guarded | undefined;
  try {
    guarded = await startGuarded();
    return await fill(controlPlane, guarded, options);
  } catch (error) {
    await guarded?.stop();
    await controlPlane.stop();
    throw error;
  }
}

async function fill<R extends { baseURL: string }>(
  controlPlane: ControlPlane,
  guarded: Guarded,
  { signal, startRemote, rateLimit = UNREACHED_RATE }: ClusterOptions<R>,
): Promise<Cluster<R>> {
  const remote = await startRemote(guarded);
  const kubectl = (...args: string[]) =>
    runProgram(controlPlane.kubectl, [`--kubeconfig=${controlPlane.kubeconfig}`, ...args], { signal });
  await kubectl("apply", "--server-side", `--filename=${CRDS}`);
  await kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s");
  await kubectl("create", "namespace", NAMESPACE);
  await kubectl("create", "secret", "generic", "key", `--namespace=${NAMESPACE}`, `--from-literal=apiKey=${API_KEY}`);
  const account = join(guarded.dir, "account.yaml");
  await writeFile(account, stringify(accountAt({ baseURL: remote.baseURL, rateLimit })));
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

/** @param name default: that of the account of objects without accountRef */
export function accountAt(
  { baseURL, rateLimit }: { baseURL: string; rateLimit: object },
  name = "default",
): KubeObject {
  return {
    apiVersion: "mooring.dev/v1alpha1",
    kind: "Account",
    metadata: { name, namespace: NAMESPACE },
    spec: { baseURL, apiKeySecretRef: { name: "key", key: "apiKey" }, rateLimit },
  };
}
