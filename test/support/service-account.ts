import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import { anyAddress } from "../../src/base/address-guard.ts";
import { type Clock, systemClock } from "../../src/base/clock.ts";
import type { AccountHandle } from "../../src/controllers/account/registry.ts";
import type { Sharing } from "../../src/controllers/account/sharing.ts";
import { keyedHashOf } from "../../src/controllers/hash.ts";
import type { DeleteOperation } from "../../src/provider/operations.ts";
import { openPassiveSession } from "../../src/provider/session.ts";
import type { AccountSession } from "../../src/provider/types.ts";
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

/** An account without shares. */
export const WHOLE: Sharing = {
  share: async () => ({ kind: "Whole" }),
  known: () => undefined,
  division: () => undefined,
  pools: () => new Map(),
};

/** An account as its dependants use it, over a real session; nothing runs for it by itself. */
export function accountAt(
  baseURL: string,
  change: Partial<AccountHandle> = {},
  session: AccountSession = sessionAt(baseURL),
): AccountHandle {
  return {
    ...session,
    key: "Account/team/default",
    keyVersion: () => "0123456789abcdef",
    digest: (value) => keyedHashOf(value, "sk-test"),
    budget: () => undefined,
    allowance: () => NO_ALLOWANCE,
    maxSpeechCharacters: 50_000,
    reuse: false,
    addressOf: () => baseURL,
    resultLookup: anyAddress,
    vanished: () => 0,
    isOutdated: () => false,
    refusal: async () => undefined,
    reportableKeys: async () => ({ kind: "All" }),
    sharing: WHOLE,
    ...change,
  };
}

export type SessionChange = {
  apiKey?: string | (() => string);
  generation?: "Current" | "Earlier";
  deleteOperation?: DeleteOperation | undefined;
  /** Default: the system's. */
  clock?: Clock;
  /** Throws while another process may serve the account. Default: there is none. */
  assertServing?: () => void;
  /** Default: holds nothing up. */
  rate?: { requestsPerSecond: number; burst: number };
};

/** A session. It is not started, and ends with the test. */
export function sessionAt(
  baseURL: string,
  { apiKey = "sk-test", generation = "Current", clock = systemClock, ...change }: SessionChange = {},
): AccountSession {
  const { deleteOperation, assertServing = () => {}, rate = { requestsPerSecond: 1e6, burst: 1e6 } } = change;
  const session = openPassiveSession({
    connection: {
      baseURL,
      apiKey: () => (typeof apiKey === "string" ? apiKey : apiKey()),
      // Long enough for a clock whose timers take a hundredth.
      requestTimeoutMs: 1_000_000,
      lookup: undefined,
      paths: {},
      deleteOperation,
    },
    assertServing,
    rate,
    endpoints: { generation, pageSize: 100, intervalMs: 3_600_000 },
    billing: () => ({ intervalMs: 3_600_000, timeZone: "UTC", settleMs: 86_400_000 }),
    clock,
    random: () => 0.5,
    log: silentLog,
  });
  onTestFinished(() => session.close());
  return session;
}
