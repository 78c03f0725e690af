import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { TestProject } from "vitest/node";
import { NAMES } from "../../scripts/release/names.ts";
import { runProgram } from "../../tools/cluster/run-program.ts";
import { prepareTools } from "../../tools/programs/tool.ts";
import { type Env, missingForCluster, openCluster } from "./cluster.ts";

/** A cluster with nodes that have the image of the release, and the other files of the release on this machine. */
export type Prepared = {
  kubeconfig: string;
  /** The folder that `npm run release:dry` filled, with its packed archives beside it. */
  release: string;
  /** Where the npm package is installed: `bin` has `mooring` and `kubectl-mooring`. */
  commands: string;
  /** Where the archive of the krew plugin is unpacked. */
  plugin: string;
  /** Where the archive of the kustomize base is unpacked. */
  kustomize: string;
  /** Where the archive of the OLM bundle is unpacked. */
  bundle: string;
  version: string;
  image: string;
  imageBytes: number;
};

declare module "vitest" {
  interface ProvidedContext {
    /** The text is the reason why the end-to-end tests cannot run here. */
    e2e: Prepared | string;
  }
}

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const log = (line: string) => void process.stderr.write(`e2e: ${line}\n`);

/**
 * Makes a release (`npm run release:dry`) and opens a cluster that has its image. The tests install these files, never the source tree.
 *
 * | variable | meaning |
 * |---|---|
 * | E2E_KUBECONFIG | a kubeconfig of an existing cluster without Mooring; the tests delete what they made |
 * | E2E_LOAD_IMAGE | with E2E_KUBECONFIG: a command that makes a local image, named as its last argument, available to the nodes |
 * | E2E_NODE_IMAGE | another base image |
 * | E2E_BUILD_ARGS | further arguments of `docker build`, separated by spaces |
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { env } = process;
  const missing = await missingForCluster(env);
  if (missing !== undefined) {
    log(`SKIPPED: ${missing}. CONTRIBUTING.md, "The end-to-end test", has what the tests need.`);
    project.provide("e2e", missing);
    return async () => undefined;
  }
  await prepareTools(["helm", "olm", "operator-verify"], log);
  const folder = await mkdtemp(join(tmpdir(), "mooring-e2e-"));
  const removeFolder = () => rm(folder, { recursive: true, force: true });
  try {
    const made = await makeRelease(folder, env);
    const cluster = await openCluster(env, log);
    await cluster.load(made.image);
    project.provide("e2e", { ...made, kubeconfig: cluster.kubeconfig });
    return async () => {
      await cluster.stop();
      await removeFolder();
    };
  } catch (error) {
    await removeFolder();
    throw error;
  }
}

async function makeRelease(folder: string, env: Env): Promise<Omit<Prepared, "kubeconfig">> {
  log("npm run release:dry");
  const release = join(folder, "release");
  const base = env.E2E_NODE_IMAGE === undefined ? [] : ["--build-arg", `NODE_IMAGE=${env.E2E_NODE_IMAGE}`];
  const more = (env.E2E_BUILD_ARGS ?? "").split(" ").filter((argument) => argument !== "");
  const dockerArguments = [...base, ...more].map((argument) => `--docker-arg=${argument}`);
  await runProgram("npm", ["run", "release:dry", "--", `--out=${release}`, ...dockerArguments], { cwd: ROOT });
  await runProgram("sha256sum", ["--check", "--strict", "SHA256SUMS"], { cwd: release });

  const { version } = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8")) as { version: string };
  const image = `${NAMES.image}:${version}`;
  const imageBytes = Number(await runProgram("docker", ["image", "inspect", "--format", "{{.Size}}", image]));
  const commands = join(folder, "commands");
  const npmPackage = join(release, `mooring-dev-cli-${version}.tgz`);
  await runProgram("npm", ["install", "--global", "--offline", "--prefix", commands, npmPackage]);
  const unpacked = join(folder, "unpacked");
  await mkdir(unpacked);
  for (const archive of ["kustomize.tar.gz", "bundle.tar.gz", `kubectl-mooring_${version}.tar.gz`]) {
    await runProgram("tar", ["--extract", "--file", join(release, archive), "--directory", unpacked]);
  }
  const folders = {
    plugin: join(unpacked, "krew"),
    kustomize: join(unpacked, "kustomize"),
    bundle: join(unpacked, "bundle"),
  };
  return { release, commands, ...folders, version, image, imageBytes };
}
