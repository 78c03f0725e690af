import type { AssumptionsInput } from "../../../src/simulator/assumptions.ts";
import type { AuditEntry } from "../../../src/simulator/audit.ts";
import type { FaultInput } from "../../../src/simulator/faults.ts";
import { createSimulator } from "../../../src/simulator/server.ts";
import { KEY, makeClient, type TestClient } from "../provider/http/make-client.ts";

export type Answer = { status: number; headers: Headers; text: string; json: Record<string, unknown> };

/** A simulator whose clock stands still until it is moved, with a client and raw requests beside it. */
export type Bench = {
  url: string;
  client: TestClient;
  /** Moves the simulator's clock. */
  pass(ms: number): void;
  /** A request with the valid key; `body` makes it a POST. */
  ask(path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  fault(...faults: FaultInput[]): Promise<void>;
  configure(config: AssumptionsInput): Promise<void>;
  audit(query?: string): Promise<AuditEntry[]>;
  close(): Promise<void>;
};

export async function startBench(config: AssumptionsInput = {}, seed = 7): Promise<Bench> {
  let now = Date.parse("2026-03-04T10:00:00Z");
  const simulator = await createSimulator({
    seed,
    now: () => now,
    config: { apiKeys: [KEY, "second-key"], speechLatencyMs: 0, streamChunkMs: 0, ...config },
  });
  const { url } = simulator;
  const client = makeClient(url);
  const ask: Bench["ask"] = async (path, body, headers = {}) => {
    const response = await fetch(`${url}${path}`, {
      method: body === undefined ? "GET" : "POST",
      headers: {
        authorization: `Bearer ${KEY}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJSON = response.headers.get("content-type")?.includes("application/json") === true;
    return { status: response.status, headers: response.headers, text, json: isJSON ? JSON.parse(text) : {} };
  };
  return {
    url,
    client,
    pass: (ms) => {
      now += ms;
    },
    ask,
    fault: async (...faults) => {
      const { status, text } = await ask("/__faults", faults);
      if (status !== 200) throw new Error(text);
    },
    configure: async (changes) => {
      const { status, text } = await ask("/__config", changes);
      if (status !== 200) throw new Error(text);
    },
    audit: async (query = "") => JSON.parse((await ask(`/__audit${query}`)).text),
    close: async () => {
      await client.close();
      await simulator.close();
    },
  };
}

/** Parameters of a create that the service takes. */
export function endpointBody(changes: Record<string, unknown> = {}) {
  return {
    name: "chat",
    appName: "chat-1",
    workerConfig: { minNum: 1, maxNum: 3, freeTimeout: 60, maxConcurrent: 4, gpuNum: 1, requestTimeout: 300 },
    ports: [{ port: "8080" }],
    policy: { type: "queue" as const, value: 10 },
    image: { image: "registry.example.com/chat:1", command: "serve" },
    products: [{ id: "product-1" }],
    rootfsSize: 100,
    volumeMounts: [],
    envs: [{ key: "MODEL", value: "small" }],
    healthy: { path: "/health" },
    ...changes,
  };
}

/** The same as an update takes it. */
export function updateBody(id: string, changes: Record<string, unknown> = {}) {
  const { appName: _appName, products: _products, rootfsSize: _rootfsSize, ...rest } = endpointBody();
  return { id, ...rest, ...changes };
}
