import { setTimeout as sleep } from "node:timers/promises";
import type { BenchCluster } from "./cluster.ts";
import { peerCommand } from "./peers/commands.ts";
import { pidOf, usageOf } from "./process-usage.ts";

const NAME = "bare";

/**
 * The resident memory of the bare program when it has read all GpuEndpoints and does nothing but keep them. So it is a limit for every
 * operator in Node. `calmSeconds`: from its start until then.
 */
export async function bareRestMiB(cluster: BenchCluster, calmSeconds: number, signal: AbortSignal): Promise<number> {
  const { guarded } = cluster;
  const [file = "", ...args] = await peerCommand(NAME, cluster, { workers: 0 });
  await guarded.start(NAME, file, args);
  try {
    await sleep(calmSeconds * 1_000, undefined, { signal: AbortSignal.any([signal, guarded.failed]) });
    return (await usageOf(await pidOf(guarded, NAME))).residentMiB;
  } finally {
    await guarded.end(NAME);
  }
}
