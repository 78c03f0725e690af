import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http";
import { request as httpsRequest } from "node:https";
import type { AddressInfo } from "node:net";

export type ProxyTarget = {
  url: string;
  /** PEM, for an https target. */
  ca?: string | Buffer | undefined;
  headers?: () => Promise<Record<string, string>>;
  /** Told of each response of the target. */
  onResponse?: (response: { method: string; path: string; status: number }) => void;
};

/** Told of each request; what it returns says what becomes of it. */
export type Trap = (request: { method: string; path: string }) =>
  | "pass"
  /** Runs `spring` and never forwards the request. */
  | "before"
  /** Forwards it, runs `spring` when the answer is here, and never hands the answer back. */
  | "after";

export type Proxy = { url: string; close(): Promise<void> };

/** A plain HTTP proxy in front of one server; `spring` is called at the moment that the trap names. */
export async function startProxy(target: ProxyTarget, trap: Trap, spring: () => void): Promise<Proxy> {
  const origin = new URL(target.url);
  const send = origin.protocol === "https:" ? httpsRequest : httpRequest;

  async function forward(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const request = { method: incoming.method ?? "", path: incoming.url ?? "" };
    const moment = trap(request);
    if (moment === "before") {
      spring();
      return;
    }
    const extra = (await target.headers?.()) ?? {};
    const upstream = send(
      {
        host: origin.hostname,
        port: origin.port,
        method: incoming.method,
        path: incoming.url,
        headers: { ...incoming.headers, ...extra, host: origin.host },
        ...(target.ca === undefined ? {} : { ca: target.ca }),
      },
      (answer) => {
        target.onResponse?.({ ...request, status: answer.statusCode ?? 502 });
        if (moment === "after") {
          answer.resume().on("end", spring);
          return;
        }
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
        answer.on("error", () => outgoing.destroy());
      },
    );
    upstream.on("error", () => outgoing.destroy());
    outgoing.on("close", () => {
      if (moment === "pass") upstream.destroy();
    });
    incoming.pipe(upstream);
  }

  const server = createServer((incoming, outgoing) => {
    forward(incoming, outgoing).catch(() => outgoing.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
