import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { bundleOptions } from "../../scripts/bundle-options.ts";
import { tool } from "../../tools/programs/tool.ts";
import type { BenchCluster } from "../cluster.ts";
import type { Peer } from "../figures.ts";
import { NODE_FLAGS } from "../pod.ts";

/** Objects that a peer works on at once. */
const WORKERS = 64;

/** The command line of a peer. All peers have the same flags. */
export async function peerCommand(peer: Peer, cluster: BenchCluster, finalizer: boolean): Promise<readonly string[]> {
  const { remote, controlPlane, guarded } = cluster;
  return [
    ...(await PROGRAMS[peer](guarded.dir)),
    `--workers=${WORKERS}`,
    `--finalizer=${finalizer}`,
    `--base=${remote.baseURL}`,
    `--kubeconfig=${controlPlane.kubeconfig}`,
  ];
}

/** The program of each peer, and the arguments before its flags. `folder` is for files that last as long as the cluster. */
const PROGRAMS: Readonly<Record<Peer, (folder: string) => Promise<readonly string[]>>> = {
  "controller-runtime": async () => [await tool("bench-peer")],
  "client-node": async (folder) => [process.execPath, ...NODE_FLAGS, await bundleClientNode(folder)],
};

/** As Mooring's bundle, so that both load as fast. The plug-ins of that bundle are for its own sources. */
async function bundleClientNode(folder: string): Promise<string> {
  const main = fileURLToPath(new URL("./client-node/main.ts", import.meta.url));
  await build({ ...bundleOptions, entryPoints: { "client-node": main }, outdir: folder, plugins: [] });
  return join(folder, "client-node.mjs");
}
