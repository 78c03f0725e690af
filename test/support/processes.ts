import { readFileSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/** The ids in a folder's `<name>.pid` files, by name. */
export async function readPids(folder: string): Promise<Map<string, number>> {
  const names = (await readdir(folder)).filter((name) => name.endsWith(".pid"));
  const pids = await Promise.all(
    names.map(async (name): Promise<[string, number]> => {
      const text = await readFile(join(folder, name), "utf8");
      return [name.slice(0, -".pid".length), Number(text)];
    }),
  );
  return new Map(pids);
}

/** Whether a process with this id runs. One that has ended and that nobody has waited for does not, where that can be told (Linux). */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return process.platform !== "linux" || !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}
