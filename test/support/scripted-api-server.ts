import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { pino } from "pino";
import { onTestFinished } from "vitest";
import type { HttpAnswer } from "../../src/base/exchange.ts";
import { createKubeClient, type KubeClient, type KubeRequest } from "../../src/kube/client.ts";
import type { ApiRequest as ConnectionRequest } from "../../src/kube/connections.ts";
import { anonymous } from "../../tools/cluster/credentials.ts";

export type ApiRequest = {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: IncomingMessage["headers"];
  body: unknown;
};

/** A watch as the server sees it. */
export type Stream = {
  send(event: { type: string; object: unknown }): void;
  /** Bytes as they are, to cut a line in two. */
  raw(text: string): void;
  end(): void;
  /** Breaks the connection. */
  cut(): void;
};

export type Answer =
  | { status?: number; body?: unknown; headers?: Record<string, string> }
  | { stream: (stream: Stream) => void }
  /** The connection breaks without an answer. */
  | "cut"
  /** No answer ever. */
  | "silence";

export type Script = (request: ApiRequest) => Answer | Promise<Answer>;

export type ScriptedApi = {
  url: string;
  client: KubeClient;
  requests: ApiRequest[];
  /** What the client told of its requests. */
  told: KubeRequest[];
  /** Another script from now on. */
  answer(script: Script): void;
  /** A client of its own over the same server. */
  connect(options?: Parameters<typeof createKubeClient>[1]): KubeClient;
};

/** A real HTTP server that answers by script, and a real client of it; both end with the test. */
export async function scriptedApi(script: Script): Promise<ScriptedApi> {
  let current = script;
  const requests: ApiRequest[] = [];
  const told: KubeRequest[] = [];
  const clients: KubeClient[] = [];
  const server = createServer((incoming, response) => {
    void read(incoming).then(async (request) => {
      requests.push(request);
      await respond(await current(request), response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const connect: ScriptedApi["connect"] = (options = {}) => {
    const client = createKubeClient(anonymous(url), options);
    clients.push(client);
    return client;
  };
  onTestFinished(async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await Promise.all(clients.map((client) => client.close()));
    await closed;
  });
  const client = connect({ onRequest: (request) => told.push(request) });
  return {
    url,
    client,
    requests,
    told,
    connect,
    answer: (next) => {
      current = next;
    },
  };
}

/** The same without a socket: an answer takes no time, so that what happens within which time of a fake clock is the same on any machine. */
export function instantApi(script: Script): Pick<ScriptedApi, "client" | "requests" | "answer"> {
  let current = script;
  const requests: ApiRequest[] = [];
  async function send({ method, path, headers, body, signal }: ConnectionRequest): Promise<HttpAnswer> {
    if (signal?.aborted === true) throw signal.reason;
    const { pathname, searchParams } = new URL(path, "http://server");
    const sent = typeof body === "string" ? JSON.parse(body) : undefined;
    const request: ApiRequest = { method, path: pathname, query: searchParams, headers, body: sent };
    requests.push(request);
    const answer = await current(request);
    if (answer === "cut") throw new Error("the connection is closed");
    if (answer === "silence")
      return new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
    if ("stream" in answer) throw new Error(`${path} is a watch`);
    const text = typeof answer.body === "string" ? answer.body : JSON.stringify(answer.body ?? {});
    return {
      statusCode: answer.status ?? 200,
      headers: answer.headers ?? {},
      body: Readable.from([Buffer.from(text)]),
    };
  }
  const client = createKubeClient(anonymous("http://server"), { connect: () => ({ send, close: async () => {} }) });
  const answer = (next: Script) => {
    current = next;
  };
  return { client, requests, answer };
}

/** metav1.Status as an answer. */
export function failure(status: number, reason: string, message = reason, details?: object): Answer {
  return { status, body: { kind: "Status", status: "Failure", code: status, reason, message, details } };
}

export const silentLog = pino({ level: "silent" });

/** A logger whose lines can be looked at. */
export function capturedLog(level = "debug"): { log: typeof silentLog; lines: Record<string, unknown>[] } {
  const lines: Record<string, unknown>[] = [];
  const log = pino({ level, base: null }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  return { log, lines };
}

async function read(incoming: IncomingMessage): Promise<ApiRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString("utf8");
  const url = new URL(incoming.url ?? "/", "http://server");
  return {
    method: incoming.method ?? "",
    path: url.pathname,
    query: url.searchParams,
    headers: incoming.headers,
    body: text === "" ? undefined : JSON.parse(text),
  };
}

async function respond(answer: Answer, response: ServerResponse): Promise<void> {
  if (answer === "silence") return;
  if (answer === "cut") {
    response.destroy();
    return;
  }
  if (!("stream" in answer)) {
    const { status = 200, body = {}, headers = {} } = answer;
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(typeof body === "string" ? body : JSON.stringify(body));
    return;
  }
  response.writeHead(200, { "content-type": "application/json" });
  response.flushHeaders();
  answer.stream({
    send: (event) => void response.write(`${JSON.stringify(event)}\n`),
    raw: (text) => void response.write(text),
    end: () => void response.end(),
    cut: () => void response.destroy(),
  });
}
