import { fileURLToPath } from "node:url";
import { cacheFolder } from "../../tools/cluster/cache.ts";
import { kind } from "../../tools/cluster/providers/kind.ts";
import { runProgram } from "../../tools/cluster/run-program.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

export type Env = Readonly<Record<string, string | undefined>>;

/** A cluster with nodes, and the operator's image in it. */
export type Cluster = {
  kubeconfig: string;
  repository: string;
  tag: string;
  imageBytes: number;
  stop(): Promise<void>;
};

const log = (line: string) => void process.stderr.write(`e2e: ${line}\n`);

/**
 * The cluster that the environment names, else one made by kind; the image is built from this tree and loaded into it.
 *
 * | variable | meaning |
 * |---|---|
 * | E2E_KUBECONFIG | a kubeconfig of a cluster that is there; it is left alone at the end but for what the tests make |
 * | E2E_LOAD_IMAGE | with E2E_KUBECONFIG: a command that makes a local image, named as its last argument, available to the nodes |
 * | E2E_IMAGE | an image REPOSITORY:TAG that the nodes can pull: nothing is built or loaded |
 * | E2E_NODE_IMAGE | NODE_IMAGE of the build |
 * | E2E_BUILD_ARGS | further arguments of `docker build`, separated by spaces |
 *
 * @throws Error that tells what is missing
 */
export async function prepareCluster(env: Env): Promise<Cluster> {
  const image = env.E2E_IMAGE ?? "mooring/operator:e2e";
  const colon = image.lastIndexOf(":");
  const [repository, tag] = [image.slice(0, colon), image.slice(colon + 1)];
  const imageBytes = env.E2E_IMAGE === undefined ? await buildImage(image, env) : 0;
  const { kubeconfig, load, stop } = await findCluster(env);
  if (env.E2E_IMAGE === undefined) await load(image);
  return { kubeconfig, repository, tag, imageBytes, stop };
}

/** Builds the image and returns its size in bytes. */
async function buildImage(image: string, env: Env): Promise<number> {
  log(`docker build ${image}`);
  const base = env.E2E_NODE_IMAGE === undefined ? [] : ["--build-arg", `NODE_IMAGE=${env.E2E_NODE_IMAGE}`];
  const more = (env.E2E_BUILD_ARGS ?? "").split(" ").filter((argument) => argument !== "");
  await runProgram("docker", ["build", ...base, ...more, "--tag", image, ROOT]);
  return Number(await runProgram("docker", ["image", "inspect", "--format", "{{.Size}}", image]));
}

type Found = { kubeconfig: string; load(image: string): Promise<unknown>; stop(): Promise<void> };

async function findCluster(env: Env): Promise<Found> {
  const { E2E_KUBECONFIG: given, E2E_LOAD_IMAGE: command } = env;
  if (given !== undefined) {
    if (command === undefined && env.E2E_IMAGE === undefined) {
      throw new Error(
        "E2E_KUBECONFIG needs E2E_LOAD_IMAGE, a command that loads an image, or E2E_IMAGE, one that can be pulled",
      );
    }
    return {
      kubeconfig: given,
      load: (image) => runProgram("sh", ["-c", `${command} "$1"`, "load", image]),
      stop: async () => undefined,
    };
  }
  const found = await kind.find({ env, cache: cacheFolder(env), log, signal: undefined });
  if (found.kind === "nothing") throw new Error(`no cluster: E2E_KUBECONFIG is not set, and ${found.reason}`);
  if (found.kind === "binaries") throw new Error("kind gave programs instead of a cluster");
  const { kubeconfig, stop } = found.cluster;
  const name = (await runProgram("kubectl", ["--kubeconfig", kubeconfig, "config", "current-context"])).replace(
    /^kind-/,
    "",
  );
  return { kubeconfig, stop, load: (image) => runProgram("kind", ["load", "docker-image", image, "--name", name]) };
}
