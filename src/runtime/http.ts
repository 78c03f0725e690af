import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Registry } from "prom-client";

export type HttpServer = { readonly port: number; close(): Promise<void> };

/** `:8080`, `127.0.0.1:8080` or `0` for off (controller-runtime's spelling). @throws Error on anything else */
export function parseBindAddress(text: string): { host: string | undefined; port: number } | undefined {
  if (text === "0" || text === "") return undefined;
  const match = /^(.*):(\d{1,5})$/.exec(text);
  const port = Number(match?.[2]);
  if (match === null || port > 65_535) {
    throw new Error(`bind address "${text}": expected [HOST]:PORT with a port 0-65535, or 0 for off`);
  }
  return { host: match[1] === "" ? undefined : match[1]?.replace(/^\[|\]$/g, ""), port };
}

/** A named check throws (or rejects) with the reason while it does not hold. */
export type Checks = Record<string, () => void | Promise<void>>;

export function serveProbes(address: string, checks: { healthz: Checks; readyz: Checks }): Promise<HttpServer> {
  return serve(address, async (path) => {
    const name = path.split("?")[0];
    const set = name === "/healthz" ? checks.healthz : name === "/readyz" ? checks.readyz : undefined;
    if (set === undefined) return { status: 404, type: "text/plain", body: "404 page not found\n" };
    const lines = await Promise.all(
      Object.entries(set).map(async ([check, run]) => {
        try {
          await run();
          return { ok: true, line: `[+]${check} ok` };
        } catch (error) {
          return { ok: false, line: `[-]${check} failed: ${error instanceof Error ? error.message : String(error)}` };
        }
      }),
    );
    const ok = lines.every((line) => line.ok);
    const verbose = path.includes("verbose") || !ok;
    const body = verbose ? `${lines.map((line) => line.line).join("\n")}\n${ok ? "ok" : "check failed"}\n` : "ok";
    return { status: ok ? 200 : 500, type: "text/plain", body };
  });
}

export function serveMetrics(address: string, registry: Registry): Promise<HttpServer> {
  return serve(address, async (path) =>
    path === "/metrics"
      ? { status: 200, type: registry.contentType, body: await registry.metrics() }
      : { status: 404, type: "text/plain", body: "404 page not found\n" },
  );
}

type Answer = { status: number; type: string; body: string };

async function serve(address: string, answer: (path: string) => Promise<Answer>): Promise<HttpServer> {
  const bind = parseBindAddress(address);
  if (bind === undefined) return { port: 0, close: async () => {} };
  const server: Server = createServer((request, response) => {
    answer(request.url ?? "/").then(
      ({ status, type, body }) => response.writeHead(status, { "content-type": type }).end(body),
      (error: unknown) => response.writeHead(500).end(`${error}\n`),
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error) => reject(new Error(`cannot listen on "${address}": ${error.message}`)));
    server.listen(bind.port, bind.host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
