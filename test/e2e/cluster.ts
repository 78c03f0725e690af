import { missingDocker } from "../../scripts/release/image.ts";
import { findProgram, pathFolders } from "../../tools/cluster/binaries.ts";
import { cacheFolder } from "../../tools/cluster/cache.ts";
import { kind } from "../../tools/cluster/providers/kind.ts";
import { runProgram } from "../../tools/cluster/run-program.ts";

export type Env = Readonly<Record<string, string | undefined>>;

/** A cluster with nodes. */
export type Cluster = {
  kubeconfig: string;
  /** Makes an image of the local Docker daemon available to the nodes. */
  load(image: string): Promise<void>;
  stop(): Promise<void>;
};

/** Why the end-to-end tests cannot run here; undefined when they can. */
export async function missingForCluster(env: Env): Promise<string | undefined> {
  const docker = await missingDocker();
  if (docker !== undefined) return docker;
  const has = async (program: string) => (await findProgram(program, pathFolders(env.PATH))) !== undefined;
  if (!(await has("kubectl"))) return "there is no kubectl on PATH";
  if (env.E2E_KUBECONFIG !== undefined || (await has("kind"))) return undefined;
  return "E2E_KUBECONFIG names no cluster, and there is no kind on PATH";
}

/**
 * The cluster of `E2E_KUBECONFIG`, else one made by kind, which `stop` deletes.
 * @throws Error that tells what is missing
 */
export async function openCluster(env: Env, log: (line: string) => void): Promise<Cluster> {
  const { E2E_KUBECONFIG: given, E2E_LOAD_IMAGE: command } = env;
  if (given === undefined) return openKind(env, log);
  if (command === undefined) throw new Error("E2E_KUBECONFIG needs E2E_LOAD_IMAGE, a command that loads an image");
  return {
    kubeconfig: given,
    load: async (image) => void (await runProgram("sh", ["-c", `${command} "$1"`, "load", image])),
    stop: async () => undefined,
  };
}

async function openKind(env: Env, log: (line: string) => void): Promise<Cluster> {
  const found = await kind.find({ env, cache: cacheFolder(env), log, signal: undefined });
  if (found.kind === "nothing") throw new Error(`no cluster: ${found.reason}`);
  if (found.kind === "binaries") throw new Error("kind gave programs instead of a cluster");
  const { kubeconfig, stop } = found.cluster;
  const context = await runProgram("kubectl", ["--kubeconfig", kubeconfig, "config", "current-context"]);
  const name = context.replace(/^kind-/, "");
  return {
    kubeconfig,
    stop,
    load: async (image) => void (await runProgram("kind", ["load", "docker-image", image, "--name", name])),
  };
}
