import { readFile, writeFile } from "node:fs/promises";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { inject, onTestFinished } from "vitest";

/** A connection to the API server that a test can interrupt. */
export type Relay = {
  /** Path of a kubeconfig that leads through it. */
  kubeconfig: string;
  /** Breaks all connections, and refuses new ones. */
  cut(): void;
  restore(): void;
};

/** Passes TCP connections on to the API server of the tests; ends with the test. `path`: of the kubeconfig to write. */
export async function startRelay(path: string): Promise<Relay> {
  const text = await readFile(inject("kubeconfig"), "utf8");
  const [, origin = "", port = ""] = /server: "?(https:\/\/[^\s"]+:(\d+))/.exec(text) ?? [];
  const sockets = new Set<Socket>();
  let broken = false;
  const server = createServer((incoming) => {
    if (broken) return incoming.destroy();
    const outgoing = connect(Number(port), new URL(origin).hostname);
    for (const [socket, other] of [
      [incoming, outgoing],
      [outgoing, incoming],
    ] as const) {
      sockets.add(socket);
      socket.pipe(other);
      socket.on("error", () => other.destroy());
      socket.on("close", () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port: own } = server.address() as AddressInfo;
  await writeFile(path, text.replace(origin, `https://127.0.0.1:${own}`));
  return {
    kubeconfig: path,
    cut() {
      broken = true;
      for (const socket of sockets) socket.destroy();
    },
    restore() {
      broken = false;
    },
  };
}
