import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Guarded } from "../tools/cluster/guarded.ts";
import { waitUntil } from "../tools/cluster/wait-until.ts";

/** CPU time since the start of the process, and its resident memory now and at most. */
export type ProcessUsage = { cpuSeconds: number; residentMiB: number; peakMiB: number };

/** Of /proc: sysconf(_SC_CLK_TCK). */
const TICKS_PER_SECOND = 100;

/** Of a program that `guarded` started under this name. */
export async function pidOf({ dir }: Pick<Guarded, "dir">, name: string): Promise<number> {
  return Number(await readFile(join(dir, `${name}.pid`), "utf8"));
}

/** As /proc shows it. */
export async function usageOf(pid: number): Promise<ProcessUsage> {
  const [stat, status] = await Promise.all([
    readFile(`/proc/${pid}/stat`, "utf8"),
    readFile(`/proc/${pid}/status`, "utf8"),
  ]);
  // After the command in brackets, which may have spaces.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const mib = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(status)?.[1]) / 1024;
  return {
    cpuSeconds: (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND,
    residentMiB: mib("VmRSS"),
    peakMiB: mib("VmHWM"),
  };
}

/**
 * Collects garbage, and returns the used heap. Opens the inspector with SIGUSR1, so that it costs nothing before. `port`: what the process was
 * started with as `--inspect-port=127.0.0.1:PORT`.
 */
export async function heapAfterCollectionMiB(pid: number, port: number): Promise<number> {
  process.kill(pid, "SIGUSR1");
  let address = "";
  await waitUntil(
    "the inspector answers",
    async () => {
      const targets: unknown = await fetch(`http://127.0.0.1:${port}/json/list`).then(
        (response) => response.json(),
        () => [],
      );
      address = /"(ws:[^"]+)"/.exec(JSON.stringify(targets))?.[1] ?? "";
      return address !== "";
    },
    { timeoutMs: 30_000 },
  );
  const inspector = new WebSocket(address);
  try {
    await new Promise((resolve, reject) => {
      inspector.addEventListener("open", resolve);
      inspector.addEventListener("error", () => reject(new Error(`the inspector at ${address} cannot be reached`)));
    });
    const send = (id: number, method: string) =>
      new Promise<string>((resolve) => {
        inspector.addEventListener("message", ({ data }) => {
          if (String(data).startsWith(`{"id":${id},`)) resolve(String(data));
        });
        inspector.send(JSON.stringify({ id, method }));
      });
    await send(1, "HeapProfiler.collectGarbage");
    const answer = await send(2, "Runtime.getHeapUsage");
    return Number(/"usedSize":(\d+)/.exec(answer)?.[1]) / 2 ** 20;
  } finally {
    inspector.close();
  }
}
