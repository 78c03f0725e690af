import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import type { Registry } from "prom-client";
import { ownValue } from "../base/own-value.ts";

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

/**
 * `/healthz` and `/readyz`, and one check alone at `/readyz/NAME`, as Kubernetes components have them: `?verbose` lists the
 * checks, `?exclude=NAME` leaves one out. A check that fails answers 500 and is listed with its reason.
 */
export function serveProbes(address: string, checks: { healthz: Checks; readyz: Checks }): Promise<HttpServer> {
  const sets: Record<string, Checks> = checks;
  return serve(address, async ({ path, query }) => {
    const [, set = "", only, ...rest] = path.split("/");
    const all = rest.length === 0 ? ownValue(sets, set) : undefined;
    if (all === undefined || (only !== undefined && ownValue(all, only) === undefined)) return NOT_FOUND;
    const excluded = query.getAll("exclude");
    const chosen = Object.entries(all).filter(([name]) => (only ?? name) === name && !excluded.includes(name));
    const results = await Promise.all(chosen.map(outcome));
    const ok = results.every((result) => result.ok);
    if (ok && !query.has("verbose")) return { status: 200, body: "ok" };
    const lines = [...results.map(({ line }) => line), `${set} check ${ok ? "passed" : "failed"}`];
    return { status: ok ? 200 : 500, body: `${lines.join("\n")}\n` };
  });
}

async function outcome([name, check]: [string, Checks[string]]): Promise<{ ok: boolean; line: string }> {
  try {
    await check();
    return { ok: true, line: `[+]${name} ok` };
  } catch (error) {
    return { ok: false, line: `[-]${name} failed: ${error instanceof Error ? error.message : String(error)}` };
  }
}

/** The RBAC verb of a request for a non-resource URL. */
export type Access = { path: string; verb: string };
/** Who may use a page: an answer that refuses, or undefined. Gets the request's Authorization header. */
export type RequestCheck = (authorization: string | undefined, access: Access) => Promise<HttpReply | undefined>;

/** @param pages further pages behind the same gate, by path. @param gate default: everybody may read */
export function serveMetrics(
  address: string,
  registry: Registry,
  gate?: RequestCheck,
  pages: Record<string, Page> = {},
): Promise<HttpServer> {
  const all: Record<string, Page> = {
    ...pages,
    "/metrics": async () => {
      return { status: 200, headers: { "content-type": registry.contentType }, body: await registry.metrics() };
    },
  };
  return serve(address, async (request) => {
    const { path, method, authorization } = request;
    const page = ownValue(all, path);
    if (page === undefined) return NOT_FOUND;
    const verb = path === "/metrics" ? "get" : method.toLowerCase();
    return (await gate?.(authorization, { path, verb })) ?? page(request);
  });
}

type Incoming = {
  method: string;
  path: string;
  query: URLSearchParams;
  authorization: string | undefined;
  /** The request's body as text. @throws Error above 1 KiB */
  body(): Promise<string>;
  /** Aborts when the client disconnects. */
  signal: AbortSignal;
};
export type Page = (request: Incoming) => Promise<HttpReply>;
export type HttpReply = { status: number; headers?: Record<string, string>; body: string | Readable };

const MAX_BODY_BYTES = 1024;

const NOT_FOUND: HttpReply = { status: 404, body: "404 page not found\n" };

async function serve(address: string, answer: Page): Promise<HttpServer> {
  const bind = parseBindAddress(address);
  if (bind === undefined) return { port: 0, close: async () => {} };
  const server: Server = createServer((request, response) => {
    const gone = new AbortController();
    response.on("close", () => gone.abort());
    answer(incoming(request, gone.signal)).then(
      (made) => send(response, made),
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

function incoming(request: IncomingMessage, signal: AbortSignal): Incoming {
  const [path = "/", query = ""] = (request.url ?? "/").split("?", 2);
  return {
    method: request.method ?? "GET",
    path,
    query: new URLSearchParams(query),
    authorization: request.headers.authorization,
    async body() {
      const length = Number(request.headers["content-length"] ?? Number.POSITIVE_INFINITY);
      if (length > MAX_BODY_BYTES)
        throw new Error(`the body needs a content-length of at most ${MAX_BODY_BYTES} bytes`);
      return text(request);
    },
    signal,
  };
}

function send(response: ServerResponse, { status, headers, body }: HttpReply): void {
  response.writeHead(status, { "content-type": "text/plain", ...headers });
  if (typeof body === "string") response.end(body);
  else pipeline(body, response).catch(() => response.destroy()); // the client disconnected
}
