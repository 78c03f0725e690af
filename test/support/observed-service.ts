import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { onTestFinished } from "vitest";
import { processOfSocket } from "./process-of-socket.ts";

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
