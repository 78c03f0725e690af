import { accessSync, constants, mkdirSync, rmdirSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

/** How a process is started with a memory limit. `within`: see `StartOptions`. */
export type MemoryLimit = { kind: "cgroup v1" | "cgroup v2" | "heap"; within: string[]; remove(): void };

const ENTER = 'echo $$ > "$0/cgroup.procs" && exec "$@"';

/** A cgroup with this limit where this process may create one, else a limit of the heap. */
export function limitMemory(name: string, bytes: number): MemoryLimit {
  const cgroups = [
    { kind: "cgroup v1", root: "/sys/fs/cgroup/memory", file: "memory.limit_in_bytes" },
    { kind: "cgroup v2", root: "/sys/fs/cgroup", file: "memory.max" },
  ] as const;
  for (const { kind, root, file } of cgroups) {
    const folder = join(root, name);
    try {
      accessSync(root, constants.W_OK);
      mkdirSync(folder);
      writeFileSync(join(folder, file), String(bytes));
    } catch {
      continue;
    }
    return { kind, within: ["/bin/sh", "-c", ENTER, folder], remove: () => rmdirSync(folder) };
  }
  const heap = `NODE_OPTIONS=--max-old-space-size=${Math.floor((bytes * 0.75) / 1024 / 1024)}`;
  return { kind: "heap", within: ["/usr/bin/env", heap], remove: () => undefined };
}

/** The largest resident memory of a process so far, in MiB. */
export async function peakMiB(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Math.round(Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1] ?? Number.NaN) / 1024);
}
