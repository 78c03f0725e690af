/**
 * The least that a controller of GpuEndpoints has to do in Node: it makes Mooring's requests for each object, with as large bodies, over
 * undici's connections, parses each response, and keeps the last state of each object without managed fields. It has no priorities, checks,
 * retries, lease, events or metrics, and drops watch lines that show its own writes. So its figures are a limit for every controller in Node.
 * Run: main.ts --kubeconfig FILE (JSON) --base URL [--workers 64]; with 0 workers it only keeps the objects
 */
import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { Pool } from "undici";
import { type GpuEndpoint, statusOf } from "../client-node/gpu-endpoint.ts";
import { createQueue } from "../client-node/queue.ts";

type Kubeconfig = {
  clusters: [{ cluster: { server: string; "certificate-authority-data": string } }];
  users: [{ user: { token: string } }];
};
type Sent = { method: "GET" | "POST" | "PATCH" | "PUT"; path: string; contentType?: string; body?: object };

const API = "/apis/mooring.dev/v1alpha1";
const FINALIZER = "bench.example.com/f";

const { values } = parseArgs({
  options: {
    kubeconfig: { type: "string", default: "" },
    base: { type: "string", default: "http://127.0.0.1:18080" },
    workers: { type: "string", default: "64" },
  },
});
// With an exit, Node writes the profile that a flag asks for.
process.on("SIGTERM", () => process.exit());
const connections = Number(values.workers);
const { clusters, users } = JSON.parse(await readFile(values.kubeconfig, "utf8")) as Kubeconfig;
const { server, "certificate-authority-data": authority } = clusters[0].cluster;
const tls = { connect: { ca: Buffer.from(authority, "base64").toString() }, allowH2: false };
const cluster = { pool: new Pool(server, { ...tls, connections }), authorization: `Bearer ${users[0].user.token}` };
const service = { pool: new Pool(values.base, { connections }), authorization: "Bearer k" };

/** The last state of each object by UID: every controller decides by it. */
const objects = new Map<string, GpuEndpoint>();
const waiting = new Set<string>();
const queue = createQueue(connections, async (uid) => {
  const endpoint = waiting.delete(uid) ? objects.get(uid) : undefined;
  if (endpoint !== undefined) await drain(endpoint);
});

let isListed = false;
watch((line) => {
  // The API server ends a watch whose client makes many changes before it has read the whole list.
  if (!isListed && line.startsWith('{"type":"BOOKMARK"')) {
    isListed = true;
    for (const uid of waiting) queue.add(uid);
  }
  if (!line.startsWith('{"type":"ADDED"')) return;
  const { object } = JSON.parse(line) as { object: GpuEndpoint };
  const uid = keep(object);
  waiting.add(uid);
  if (isListed) queue.add(uid);
});

function keep(object: GpuEndpoint): string {
  const { managedFields: _, ...metadata } = object.metadata ?? {};
  const uid = metadata.uid ?? "";
  objects.set(uid, { ...object, metadata });
  return uid;
}

async function drain({ metadata, spec }: GpuEndpoint): Promise<void> {
  const { name = "", namespace = "", uid = "", resourceVersion = "" } = metadata ?? {};
  const path = `${API}/namespaces/${namespace}/gpuendpoints/${name}`;
  const patch = {
    resourceVersion,
    finalizers: [FINALIZER],
    annotations: { "bench.example.com/create": recordOf(uid) },
  };
  const contentType = "application/merge-patch+json";
  const recorded = await exchange<GpuEndpoint>(cluster, {
    method: "PATCH",
    path,
    contentType,
    body: { metadata: patch },
  });
  keep(recorded);

  const create = { method: "POST", path: "/gpu-instance/openapi/v1/endpoint/create" } as const;
  const { id } = await exchange<{ id: string }>(service, { ...create, body: { endpoint: { name, ...spec } } });
  const { url } = await exchange<{ url: string }>(service, { method: "GET", path: `/gpus/v2/endpoints/${id}` });

  const status = statusOf(recorded, { baseURL: values.base, id, url });
  const version = { name, resourceVersion: recorded.metadata?.resourceVersion };
  const body = { apiVersion: recorded.apiVersion, kind: recorded.kind, metadata: version, status };
  keep(await exchange<GpuEndpoint>(cluster, { method: "PUT", path: `${path}/status`, body }));
}

/** As long as Mooring's record of a create. */
function recordOf(uid: string): string {
  return JSON.stringify({
    id: randomUUID(),
    uid,
    attempt: 1,
    operation: "createEndpoint",
    specHash: "cfc674597ff16226",
    account: { kind: "Account", name: "default", baseURL: values.base },
    keyVersion: "0f5c8a1e63d1",
    sender: "bench/mooring-00000000",
    time: new Date().toISOString(),
  });
}

type Target = { pool: Pool; authorization: string };

function headersOf(
  { authorization }: Target,
  { body, contentType = "application/json" }: Sent,
): Record<string, string> {
  return { authorization, accept: "application/json", ...(body === undefined ? {} : { "content-type": contentType }) };
}

/** One request and its response, parsed. */
function exchange<T>(target: Target, sent: Sent): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const { method, path, body } = sent;
  const chunks: Buffer[] = [];
  let status = 0;
  target.pool.dispatch(
    { method, path, headers: headersOf(target, sent), body: body === undefined ? null : JSON.stringify(body) },
    {
      onRequestStart: () => undefined,
      onResponseStart(_, statusCode) {
        status = statusCode;
      },
      onResponseData: (_, chunk) => void chunks.push(chunk),
      onResponseEnd: () => {
        const [first = Buffer.alloc(0)] = chunks;
        const text = (chunks.length === 1 ? first : Buffer.concat(chunks)).toString();
        if (status < 300) resolve(JSON.parse(text));
        else reject(new Error(`${method} ${path}: status ${status} ${text}`));
      },
      onResponseError: (_, error) => reject(error),
    },
  );
  return promise;
}

/** Every object, then every change. */
function watch(onLine: (line: string) => void): void {
  const query = "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
  const sent: Sent = { method: "GET", path: `${API}/gpuendpoints?${query}` };
  const decoder = new TextDecoder();
  let begun = "";
  const target = { ...cluster, pool: new Pool(server, { ...tls, bodyTimeout: 0 }) };
  target.pool.dispatch(
    { method: sent.method, path: sent.path, headers: headersOf(target, sent) },
    {
      onRequestStart: () => undefined,
      onResponseStart: () => undefined,
      onResponseEnd: () => end("the API server ended it"),
      onResponseData(_, chunk) {
        const lines = `${begun}${decoder.decode(chunk, { stream: true })}`.split("\n");
        begun = lines.pop() ?? "";
        for (const line of lines) onLine(line);
      },
      onResponseError: (_, error) => end(error),
    },
  );
}

/** A watch that ends is not resumed: after the list, no further object comes. The process lives until it is stopped. */
function end(why: unknown): void {
  console.error("the watch ended:", why);
  if (!isListed) process.exit(1);
  setInterval(() => undefined, 60_000);
}
