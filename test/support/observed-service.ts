import { readdir, readFile, readlink } from "node:fs/promises";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { onTestFinished } from "vitest";

/** The kernel's table of connections is not read at one moment, so that a row can be missed. */
const ATTEMPTS = 10;

/** The ports of a connection: that of this end, and that of the other one. Connections to different servers can share the latter. */
type Ports = { localPort?: number | undefined; remotePort?: number | undefined };

/** The process, one of `pids`, at the other end of a loopback connection that is open. Undefined: the process has ended. */
async function processOfSocket(socket: Ports, pids: readonly number[]): Promise<number | undefined> {
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

/** A call of the remote service. `at`: ms since the epoch. `pid`: undefined when the process ended right after it had called. */
export type ObservedCall = { pid: number | undefined; at: number; method: string; path: string };

/** An address of a remote service that records which process calls it, in the order of the calls. */
export type ObservedService = { url: string; calls: ObservedCall[] };

/** Passes requests on to `target` until the test ends. `pids`: the processes that may call. */
export async function observeService(target: string, pids: () => readonly number[]): Promise<ObservedService> {
  const calls: ObservedCall[] = [];
  const owners = new WeakMap<Socket, Promise<number | undefined>>();

  async function pass(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { socket, method = "", url: path = "" } = incoming;
    const at = Date.now();
    const call: ObservedCall = { pid: undefined, at, method, path };
    calls.push(call);
    call.pid = await owners.get(socket);
    const upstream = request(new URL(path, target), { method, headers: incoming.headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    upstream.on("error", () => outgoing.destroy());
    // A process that is killed takes its request with it.
    outgoing.on("close", () => upstream.destroy());
    incoming.pipe(upstream);
  }

  const server = createServer((incoming, outgoing) => void pass(incoming, outgoing));
  server.on("connection", (socket) => owners.set(socket, processOfSocket(socket, pids())));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, calls };
}
