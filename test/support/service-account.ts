import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import { systemClock } from "../../src/clock.ts";
import type { AccountHandle } from "../../src/controllers/account/registry.ts";
import { anyAddress } from "../../src/net/address-guard.ts";
import { createServiceClient } from "../../src/provider/client.ts";
import { createEndpointSweep } from "../../src/provider/endpoints/sweep.ts";
import { createBreaker } from "../../src/provider/http/breaker.ts";
import { createLimiter } from "../../src/provider/http/limiter.ts";
import { createTransport } from "../../src/provider/http/transport.ts";
import { createAccountBills } from "../../src/provider/money/spend.ts";
import { createTaskPoller } from "../../src/provider/tasks/poller.ts";
import { NO_ALLOWANCE } from "../../src/submission/allowance.ts";
import { silentLog } from "./scripted-api-server.ts";

export type ServiceRequest = { method: string; path: string; authorization: string | undefined; body: unknown };
export type ServiceAnswer = { status?: number; body?: unknown; headers?: Record<string, string> } | "cut";

/** A service of one process that answers by script; ends with the test. */
export async function scriptedService(
  script: (request: ServiceRequest) => ServiceAnswer | Promise<ServiceAnswer>,
): Promise<{ url: string; requests: ServiceRequest[] }> {
  const requests: ServiceRequest[] = [];
  const server = createServer(async (incoming, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString("utf8");
    const { method = "", url: path = "", headers } = incoming;
    const body: unknown = text === "" ? undefined : JSON.parse(text);
    const request = { method, path, authorization: headers.authorization, body };
    requests.push(request);
    respond(await script(request), response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}

function respond(answer: ServiceAnswer, response: ServerResponse): void {
  if (answer === "cut") {
    response.destroy();
    return;
  }
  const { status = 200, body = {}, headers = {} } = answer;
  response.writeHead(status, {
    "content-type": typeof body === "string" ? "text/html" : "application/json",
    ...headers,
  });
  response.end(typeof body === "string" ? body : JSON.stringify(body));
}

/** An account as its dependants use it, over a real client; nothing runs for it by itself. */
export function accountAt(baseURL: string, change: Partial<AccountHandle> = {}): AccountHandle {
  const clock = systemClock;
  const random = () => 0.5;
  const none = () => {};
  const transport = createTransport({ baseURL, apiKey: () => "sk-test", requestTimeoutMs: 5_000 });
  const limiter = createLimiter({ clock, random, requestsPerSecond: 1e6, burst: 1e6 });
  const client = createServiceClient({ transport, limiter });
  onTestFinished(() => transport.close());
  return {
    key: "Account/team/default",
    baseURL,
    client,
    limiter,
    breaker: createBreaker({ clock, random }),
    endpoints: createEndpointSweep({
      client,
      generation: "Current",
      pageSize: 100,
      intervalMs: 60_000,
      clock,
      log: silentLog,
      wanted: () => false,
      onChange: none,
      onError: none,
    }),
    generation: "Current",
    details: undefined,
    tasks: createTaskPoller({ client, clock, random, onChange: none, onError: none }),
    bills: createAccountBills({
      client,
      settings: () => ({ intervalMs: 3_600_000, timeZone: "UTC", settleMs: 86_400_000 }),
      wanted: () => false,
      clock,
      log: silentLog,
    }),
    budget: () => undefined,
    allowance: () => NO_ALLOWANCE,
    maxSpeechCharacters: 50_000,
    resultLookup: anyAddress,
    limits: () => undefined,
    vanished: () => 0,
    allows: async () => true,
    dispose: async () => {},
    ...change,
  };
}
