import { readdir, readFile, readlink } from "node:fs/promises";

/** The kernel's table of connections is not read at one moment, so that a row can be missed. */
const ATTEMPTS = 10;

/** The ports of a connection: that of this end, and that of the other one. Connections to different servers can share the latter. */
type Ports = { localPort?: number | undefined; remotePort?: number | undefined };

/** The process, one of `pids`, at the other end of a loopback connection that is open. Undefined: the process has ended. */
export async function processOfSocket(socket: Ports, pids: readonly number[]): Promise<number | undefined> {
  const ports = { localPort: socket.localPort, remotePort: socket.remotePort };
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const inode = await inodeOf(ports);
    for (const pid of inode === undefined ? [] : pids) {
      if (await hasSocket(pid, inode)) return pid;
    }
  }
  return undefined;
}

async function inodeOf({ localPort, remotePort }: Ports): Promise<string | undefined> {
  const [own, other] = [localPort, remotePort].map(
    (port = 0) => `:${port.toString(16).toUpperCase().padStart(4, "0")}`,
  );
  const table = await readFile("/proc/net/tcp", "utf8");
  const rows = table.split("\n").map((line) => line.trim().split(/\s+/));
  // A closed connection stays in the table without an inode.
  const [, , , , , , , , , inode] =
    rows.find((row) => row[1]?.endsWith(other ?? "") && row[2]?.endsWith(own ?? "") && row[9] !== "0") ?? [];
  return inode;
}

async function hasSocket(pid: number, inode: string | undefined): Promise<boolean> {
  const folder = `/proc/${pid}/fd`;
  const fds = await readdir(folder).catch(() => []);
  const targets = await Promise.all(fds.map((fd) => readlink(`${folder}/${fd}`).catch(() => "")));
  return targets.includes(`socket:[${inode}]`);
}
