import {
  createServer,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { createRandom } from "../../src/simulator/random.ts";
import {
  type ChaosSettings,
  createStreamFaults,
  defaultChaos,
  drawRequestFault,
  type RequestFault,
  type RequestShape,
  type StreamFault,
  shapeOf,
} from "./chaos-faults.ts";
import { relayStream } from "./chaos-stream.ts";
import type { ProxyTarget } from "./proxy.ts";

export type ChaosCounts = {
  requests: number;
  /** Lists that began: first pages, and watches that begin with a list. */
  lists: number;
  pages: number;
  watches: number;
  faults: Partial<Record<RequestFault | StreamFault, number>>;
};

export type ChaosProxy = {
  url: string;
  counts(): ChaosCounts;
  /** Whether faults happen; those under way run to their end. It begins calm. */
  rage(on: boolean): void;
  close(): Promise<void>;
};

export type ChaosOptions = { seed: number; settings?: Partial<ChaosSettings> };

const SLOW_PIECES = 30;

/** A proxy in front of an API server that fails as networks, load balancers and API servers do. */
export async function startChaosProxy(target: ProxyTarget, options: ChaosOptions): Promise<ChaosProxy> {
  const settings: ChaosSettings = { ...defaultChaos, ...options.settings };
  const random = createRandom(options.seed);
  const origin = new URL(target.url);
  const secure = origin.protocol === "https:";
  const send = secure ? httpsRequest : httpRequest;
  const agent = secure ? new HttpsAgent({ keepAlive: true }) : new HttpAgent({ keepAlive: true });
  const counts: ChaosCounts = { requests: 0, lists: 0, pages: 0, watches: 0, faults: {} };
  const draw = createStreamFaults(settings, random);
  let raging = false;

  const struck = (fault: RequestFault | StreamFault) => {
    counts.faults[fault] = (counts.faults[fault] ?? 0) + 1;
  };

  function count(shape: RequestShape): void {
    counts.requests++;
    if ((shape.list && !shape.continues) || shape.initialEvents) counts.lists++;
    if (shape.list) counts.pages++;
    if (shape.watch) counts.watches++;
  }

  async function forward(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const url = new URL(incoming.url ?? "/", origin);
    const shape = shapeOf(incoming.method ?? "GET", url);
    count(shape);
    if (shape.initialEvents && !settings.streamingLists) {
      refuse(outgoing, 422, "Invalid", "sendInitialEvents is forbidden for watch unless the feature is enabled");
      return;
    }
    const fault = raging ? drawRequestFault(settings, shape, random) : undefined;
    if (fault !== undefined) struck(fault);
    if (fault === "error500") return refuse(outgoing, 500, "InternalError", "chaos");
    if (fault === "throttled429") return refuse(outgoing, 429, "TooManyRequests", "chaos");
    if (fault === "expiredContinue" || fault === "expiredVersion") {
      return refuse(outgoing, 410, "Expired", "too old resource version");
    }
    const limit = Number(url.searchParams.get("limit") ?? 0);
    if (shape.list && limit > settings.pageSize) url.searchParams.set("limit", String(settings.pageSize));
    const answer = await ask(incoming, outgoing, `${url.pathname}${url.search}`);
    if (fault === "lostAnswer") {
      answer.resume().on("end", () => outgoing.destroy());
      return;
    }
    if (fault === "silence") await sleep(settings.silenceMs);
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
    if (shape.watch && answer.statusCode === 200) {
      outgoing.flushHeaders();
      await relayStream(answer, outgoing, {
        settings,
        random,
        bookmarks: url.searchParams.get("allowWatchBookmarks") === "true",
        from: shape.resumes ? (url.searchParams.get("resourceVersion") ?? undefined) : undefined,
        initialEvents: shape.initialEvents,
        calm: () => !raging,
        draw,
        onFault: struck,
      });
    } else if (fault === "slowBytes") await drip(answer, outgoing);
    else answer.pipe(outgoing);
  }

  async function ask(incoming: IncomingMessage, outgoing: ServerResponse, path: string): Promise<IncomingMessage> {
    const extra = (await target.headers?.()) ?? {};
    return new Promise((resolve, reject) => {
      const upstream = send(
        {
          agent,
          host: origin.hostname,
          port: origin.port,
          method: incoming.method,
          path,
          headers: { ...incoming.headers, ...extra, host: origin.host },
          ...(target.ca === undefined ? {} : { ca: target.ca }),
        },
        (answer) => {
          answer.on("error", () => outgoing.destroy());
          resolve(answer);
        },
      );
      upstream.on("error", reject);
      outgoing.on("close", () => {
        if (!outgoing.writableFinished) upstream.destroy();
      });
      incoming.pipe(upstream);
    });
  }

  async function drip(answer: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of answer) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const size = Math.max(1, Math.ceil(body.length / SLOW_PIECES));
    for (let from = 0; from < body.length; from += size) {
      outgoing.write(body.subarray(from, from + size));
      await sleep(settings.slowMs / SLOW_PIECES);
    }
    outgoing.end();
  }

  const server = createServer((incoming, outgoing) => {
    forward(incoming, outgoing).catch(() => outgoing.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    counts: () => structuredClone(counts),
    rage: (on) => {
      raging = on;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          agent.destroy();
          resolve();
        });
        server.closeAllConnections();
      }),
  };
}

/** metav1.Status instead of an answer. */
function refuse(outgoing: ServerResponse, code: number, reason: string, message: string): void {
  const headers: Record<string, string> = { "content-type": "application/json" };
  if (code === 429) headers["retry-after"] = "1";
  outgoing.writeHead(code, headers);
  outgoing.end(JSON.stringify({ kind: "Status", apiVersion: "v1", status: "Failure", code, reason, message }));
}
