import { createServer, type Server, type Socket } from "node:net";

/** A server that plays what it is told with bytes of its own, for what a real HTTP server would never do. */
export type RawServer = {
  url: string;
  /** What was read so far, per connection. */
  received: string[];
  close(): Promise<void>;
};

/** `play` runs once per connection, when the head and body of a request have been read. */
export async function startRawServer(play: (socket: Socket, request: string) => void): Promise<RawServer> {
  const sockets = new Set<Socket>();
  const received: string[] = [];
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    let text = "";
    socket.on("close", () => sockets.delete(socket));
    // A peer that resets is what these tests are about.
    socket.on("error", () => socket.destroy());
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1");
      const head = text.indexOf("\r\n\r\n");
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0);
      if (head < 0 || text.length < head + 4 + length) return;
      const request = text;
      text = "";
      received.push(request);
      play(socket, request);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return {
    url: `http://127.0.0.1:${address.port}`,
    received,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A complete HTTP answer. */
export function answer(status: number, body: string, headers: Record<string, string> = {}): string {
  const lines = Object.entries({ "content-type": "application/json", ...headers }).map(([k, v]) => `${k}: ${v}\r\n`);
  return `HTTP/1.1 ${status} X\r\n${lines.join("")}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}
