import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { HostileResponse } from "./responses.ts";

/** A service that answers each path as it likes. `requests` counts by path. */
export type HostileService = {
  url: string;
  requests(): Record<string, number>;
  /** Answers every request whose path begins with `path` like this from now on. */
  answer(path: string, response: HostileResponse): void;
  close(): void;
};

/** Endpoint limits that let the account become ready. */
const LIMITS = JSON.stringify({ minWorkerNum: 0, maxWorkerNum: 10, cudaVersionList: ["12.4"] });

export async function startHostileService(): Promise<HostileService> {
  const answers = new Map<string, HostileResponse>();
  const requests: Record<string, number> = {};
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://service");
    requests[pathname] = (requests[pathname] ?? 0) + 1;
    request.resume();
    const found = [...answers].find(([path]) => pathname.startsWith(path))?.[1];
    response.writeHead(200, { "content-type": "application/json" });
    if (found === undefined)
      response.end(pathname.endsWith("/limit") ? LIMITS : '{"data":[],"bills":[],"key_budgets":[]}');
    else void send(response, found.body(searchParams.get("cursor") ?? ""));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: () => requests,
    answer: (path, response) => void answers.set(path, response),
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

async function send(response: ServerResponse, body: Iterable<string>): Promise<void> {
  // A client that leaves in the middle is what the tests expect.
  await pipeline(Readable.from(joined(body)), response).catch(() => undefined);
}

/** The same text in pieces of 64 KiB or more. */
function* joined(body: Iterable<string>): Iterable<string> {
  let pieces: string[] = [];
  let size = 0;
  for (const piece of body) {
    pieces.push(piece);
    size += piece.length;
    if (size < 64 * 1024) continue;
    yield pieces.join("");
    pieces = [];
    size = 0;
  }
  yield pieces.join("");
}
