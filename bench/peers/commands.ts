import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, type Plugin } from "esbuild";
import { parse } from "yaml";
import { bundleOptions } from "../../scripts/bundle-options.ts";
import { TAKE_BACK_FLAGS } from "../../scripts/node-flags.ts";
import { LISTED_FLAGS, RUNNING_FLAGS } from "../../src/cli/operate/running-flags.ts";
import { prepareTool, type Tool, tool } from "../../tools/programs/tool.ts";
import type { BenchCluster } from "../cluster.ts";
import type { Peer } from "../figures.ts";
import { startCommand } from "../start-command.ts";

/** Objects that a peer works on at once. With 32, which is Mooring's number, controller-runtime needs more CPU time. */
const WORKERS = 64;

/** What is built for a peer. Without those of `BENCH_TOOLS`. */
const TOOLS: Partial<Record<Peer, Tool>> = { "kube-rs": "bench-kube-rs", kopf: "bench-kopf" };

/** Builds what the peers need. One that cannot be built on this machine is left out, with a line that says why. */
export async function preparePeers(
  peers: readonly Peer[],
  say: (line: string) => void,
  env = process.env,
): Promise<Peer[]> {
  const prepared: Peer[] = [];
  for (const peer of peers) {
    const name = TOOLS[peer];
    const obstacle = name === undefined ? undefined : await prepareTool(name, say, env);
    if (obstacle === undefined) prepared.push(peer);
    else say(`${peer} is left out: ${obstacle}`);
  }
  return prepared;
}

/** The command line of a prepared peer. All peers have the same flags. `workers`: 0 works on no object. */
export async function peerCommand(
  peer: Peer,
  cluster: BenchCluster,
  { workers = WORKERS, nodeFlags = [] }: { workers?: number; nodeFlags?: readonly string[] } = {},
): Promise<readonly string[]> {
  const { remote, controlPlane, guarded } = cluster;
  const kubeconfig = peer === "bare" ? await asJSON(controlPlane.kubeconfig, guarded.dir) : controlPlane.kubeconfig;
  return [
    ...(await PROGRAMS[peer](guarded.dir, nodeFlags)),
    `--workers=${workers}`,
    `--base=${remote.baseURL}`,
    `--kubeconfig=${kubeconfig}`,
  ];
}

/** The program of a peer, and the arguments before its flags. `folder` is for files that last as long as the cluster. */
type Program = (folder: string, nodeFlags: readonly string[]) => Promise<readonly string[]>;

const PROGRAMS: Readonly<Record<Peer, Program>> = {
  "controller-runtime": async () => [await tool("bench-peer")],
  "kube-rs": async () => [await tool("bench-kube-rs")],
  kopf: async () => [await tool("bench-kopf"), fileURLToPath(new URL("./kopf/main.py", import.meta.url))],
  "client-node": (folder, nodeFlags) => bundled("client-node", folder, nodeFlags),
  bare: (folder, nodeFlags) => bundled("bare", folder, nodeFlags, bundleOptions.plugins),
};

/** As Mooring's bundle, so that both start as fast. Its plug-ins are for code that imports the same parts of libraries as its own. */
async function bundled(
  peer: Peer,
  folder: string,
  nodeFlags: readonly string[],
  plugins: Plugin[] = [],
): Promise<readonly string[]> {
  const main = fileURLToPath(new URL(`./${peer}/main.ts`, import.meta.url));
  const outdir = join(folder, peer);
  await build({ ...bundleOptions, entryPoints: { main }, outdir, plugins });
  await writeFile(join(outdir, "start.mjs"), START);
  return startCommand(join(outdir, "start.mjs"), outdir, nodeFlags);
}

/** What src/main.ts and `mooring operator` do with the flags of V8. A peer does not tell when its lists are stored, so it sets all at once. */
const START = `import { setFlagsFromString } from "node:v8";
for (const flag of ${JSON.stringify(TAKE_BACK_FLAGS)}) setFlagsFromString(flag);
setImmediate(() => ${JSON.stringify([...RUNNING_FLAGS, ...LISTED_FLAGS])}.forEach((flag) => setFlagsFromString(flag)));
await import("./main.mjs");
`;

/** For a program that reads no YAML. */
async function asJSON(kubeconfig: string, folder: string): Promise<string> {
  const file = join(folder, "kubeconfig.json");
  await writeFile(file, JSON.stringify(parse(await readFile(kubeconfig, "utf8"))), { mode: 0o600 });
  return file;
}
