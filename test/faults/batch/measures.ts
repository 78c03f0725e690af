import { metricBy } from "../../../bench/metric.ts";
import { heapAfterCollectionMiB, usageOf } from "../../../bench/process-usage.ts";
import { NODE_FLAGS } from "../../../scripts/node-flags.ts";
import { freePorts } from "../../../tools/cluster/ports.ts";
import { runProgram } from "../../../tools/cluster/run-program.ts";
import type { Scene } from "./scene.ts";
import { MANY } from "./size.ts";

export type ApiServer = { kubectl: string; kubeconfig: string };

/** Requests that write objects of a kind, by its plural, as the API server has counted them since its start. */
async function writesAt({ kubectl, kubeconfig }: ApiServer): Promise<Readonly<Record<string, number>>> {
  const text = await runProgram(kubectl, ["--kubeconfig", kubeconfig, "get", "--raw", "/metrics"]);
  const written = text.split("\n").filter((line) => /[{,]verb="(?:POST|PUT|PATCH|APPLY|DELETE)"/.test(line));
  return metricBy(written.join("\n"), "apiserver_request_total", "resource");
}

/**
 * What a batch costs. `writes` and `events`: requests to the API server per item. `heapMiB`: used, after a collection when half is done.
 * `peaksMiB`: highest resident memory until each tenth of the items has ended.
 */
export type Cost = {
  items: number;
  writes: number;
  events: number;
  status: number;
  heapMiB: number;
  peaksMiB: number[];
};

/**
 * Runs a batch with an operator of its own, which has run a small one before: what V8 compiles and Node loads depends on the age of a
 * process, not on the items of a batch. `spec`: of both.
 */
export async function costOf(
  scene: Scene,
  api: ApiServer,
  { name, items, spec }: { name: string; items: number; spec: Record<string, unknown> },
): Promise<Cost & { seconds: number }> {
  const [port = 0] = await freePorts(1);
  const operator = await scene.start({ nodeFlags: [...NODE_FLAGS, `--inspect-port=127.0.0.1:${port}`] });
  await scene.apply(`before-${name}`, MANY.few, spec);
  await scene.ended(`before-${name}`);
  const before = await writesAt(api);
  const since = performance.now();
  await scene.apply(name, items, spec);
  let status = 0;
  let heapMiB: number | undefined;
  const peaksMiB: number[] = [];
  await scene.ended(name, async (batch) => {
    status = Math.max(status, JSON.stringify(batch.status).length);
    const { succeeded = 0, failed = 0 } = batch.status ?? {};
    const ended = Number(succeeded) + Number(failed);
    const peakMiB = Math.round((await usageOf(operator.pid)).peakMiB);
    while (peaksMiB.length < Math.floor((ended / items) * 10)) peaksMiB.push(peakMiB);
    if (ended >= items / 2) {
      heapMiB ??= await heapAfterCollectionMiB(operator.pid, port);
    }
  });
  const seconds = (performance.now() - since) / 1_000;
  peaksMiB.push(Math.round((await usageOf(operator.pid)).peakMiB));
  await operator.stop();
  const after = await writesAt(api);
  const each = (...kinds: string[]) => {
    return kinds.reduce((sum, kind) => sum + (after[kind] ?? 0) - (before[kind] ?? 0), 0) / items;
  };
  if (heapMiB === undefined) throw new Error(`the batch ${name} ended before its memory was measured`);
  return {
    items,
    writes: each("mediabatches", "speechjobs"),
    events: each("events"),
    status,
    heapMiB,
    peaksMiB,
    seconds,
  };
}
