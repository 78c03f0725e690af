/**
 * Runs inside an operator (`node --import`). On SIGUSR2 it writes what the process has loaded, and how much it has allocated, to the file
 * of COST_PROBE_FILE (costs.test.ts).
 */
import { renameSync, statSync, writeFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";
import { GCProfiler, getHeapStatistics } from "node:v8";

const file = process.env["COST_PROBE_FILE"] ?? "";
const files = new Map<string, number>();
let readings = 0;

registerHooks({
  load(url, context, next) {
    if (url.startsWith("file:") && !url.endsWith("/cost-probe.ts")) {
      const path = fileURLToPath(url);
      files.set(path, statSync(path).size);
    }
    return next(url, context);
  },
});

const heapBytes = () => getHeapStatistics().used_heap_size;
let allocatedBytes = 0;
let profiler = new GCProfiler();
let startedAt = heapBytes();
profiler.start();

/** What the heap has grown by between its collections, since the last call. */
function allocatedSince(): number {
  const { statistics } = profiler.stop();
  let last = startedAt;
  let sum = 0;
  for (const { beforeGC, afterGC } of statistics) {
    sum += Math.max(0, beforeGC.heapStatistics.usedHeapSize - last);
    last = afterGC.heapStatistics.usedHeapSize;
  }
  sum += Math.max(0, heapBytes() - last);
  profiler = new GCProfiler();
  startedAt = heapBytes();
  profiler.start();
  return sum;
}

process.on("SIGUSR2", () => {
  allocatedBytes += allocatedSince();
  readings++;
  const reading = { readings, allocatedBytes, files: Object.fromEntries(files) };
  writeFileSync(`${file}.new`, JSON.stringify(reading));
  renameSync(`${file}.new`, file);
});
