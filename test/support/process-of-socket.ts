import { readdir, readFile, readlink } from "node:fs/promises";

/** The kernel's table of connections is not read at one moment, so that a row can be missed. */
const ATTEMPTS = 10;

/**
 * The process, one of `pids`, at the other end of a loopback connection that is open. `port`: that of the other end. Undefined: the process
 * has ended.
 */
export async function processOfSocket(port: number, pids: readonly number[]): Promise<number | undefined> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const inode = await inodeOf(port);
    for (const pid of inode === undefined ? [] : pids) {
      if (await hasSocket(pid, inode)) return pid;
    }
  }
  return undefined;
}

async function inodeOf(port: number): Promise<string | undefined> {
  const hexPort = port.toString(16).toUpperCase().padStart(4, "0");
  const table = await readFile("/proc/net/tcp", "utf8");
  const rows = table.split("\n").map((line) => line.trim().split(/\s+/));
  // A closed connection stays in the table without an inode.
  return rows.find((row) => row[1]?.endsWith(`:${hexPort}`) && row[9] !== "0")?.[9];
}

async function hasSocket(pid: number, inode: string | undefined): Promise<boolean> {
  const folder = `/proc/${pid}/fd`;
  const fds = await readdir(folder).catch(() => []);
  const targets = await Promise.all(fds.map((fd) => readlink(`${folder}/${fd}`).catch(() => "")));
  return targets.includes(`socket:[${inode}]`);
}
