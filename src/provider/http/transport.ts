import { type Clock, systemClock } from "../../base/clock.ts";
import { exchange, type HttpAnswer } from "../../base/exchange.ts";
import { createSanitizer, type Sanitizer } from "../../base/sanitizer.ts";
import { ServiceError } from "../errors.ts";
import { OPERATIONS, type Operation } from "../operations.ts";
import { createAccountBodies, createResponseMemory, type ResponseMemory } from "../response-memory.ts";
import { readBody } from "./body.ts";
import { type RefusedAnswer, refusal } from "./classify.ts";
import { type ConnectionOptions, createPool, parseBase } from "./connections.ts";
import { createGuard, type Guard } from "./exchange-guard.ts";
import { failureOf } from "./transport-failure.ts";

export type TransportOptions = ConnectionOptions & {
  /** http(s), with or without a path prefix; no credentials, query or fragment. */
  baseURL: string;
  /** Read before every request: a rotated key takes effect at once. Surrounding white space is ignored. */
  apiKey: () => string;
  /** Longest time for a whole request, or of silence in a stream. Milliseconds, default 60000. */
  requestTimeoutMs?: number;
  clock?: Clock;
  /** Memory for large bodies. Default: of its own. */
  memory?: ResponseMemory | undefined;
};

export type TransportRequest = {
  operation: Operation;
  /** Default: the operation's own. */
  method?: "DELETE" | "POST" | "PUT" | "PATCH" | undefined;
  /** Path with the query, relative to the base URL. */
  path: string;
  body?: string | undefined;
  signal?: AbortSignal | undefined;
  /** Called when a connection accepts the request. When it throws, nothing is sent, and its error is thrown unchanged. */
  beforeWrite?: (() => void) | undefined;
  /** Values of the body that no error may show. */
  hidden?: readonly string[] | undefined;
};

/** A 2xx response. `release` gives back the memory of the body. */
export type TransportAnswer = { status: number; body: Buffer; release(): void };
/** `reserve` waits until `bytes` of memory are free for a part of the body. What it returns gives them back. */
export type TransportStream = {
  status: number;
  chunks: AsyncIterable<Buffer>;
  reserve(bytes: number): Promise<() => void>;
};

/**
 * The connections of one account. Guarantees: a request is written to a socket at most once (no retries, no redirects, no
 * pipelining), and a failure tells whether a byte of it may have left (`ServiceError.delivery`).
 */
export type Transport = {
  /** Sends a request and reads the whole 2xx response, up to the limit of its operation. Anything else is a `ServiceError`. */
  send(request: TransportRequest): Promise<TransportAnswer>;
  /** Sends a request and returns the 2xx body as it arrives; `requestTimeoutMs` is then the longest silence. */
  open(request: TransportRequest): Promise<TransportStream>;
  /** For texts of the service: keeps the account's API keys out of them, also former ones, and the values in `hidden`. */
  sanitizer(hidden?: readonly string[]): Sanitizer;
  /** Takes no new requests and waits for those in progress; abort their signals to end them early. */
  close(): Promise<void>;
};

const MAX_REFUSAL_BYTES = 64 * 1024;

/** Never throws: a base URL that cannot work fails each request with `Misconfigured`. */
export function createTransport(options: TransportOptions): Transport {
  const clock = options.clock ?? systemClock;
  const timeoutMs = options.requestTimeoutMs ?? 60_000;
  const keys = createKeyMemory(options.apiKey);
  const plain = createSanitizer({ apiKeys: keys.all });
  const sanitizer = (hidden: readonly string[] = []) =>
    hidden.length === 0 ? plain : createSanitizer({ apiKeys: keys.all, hidden });
  const base = parseBase(options.baseURL);
  const service = typeof base === "string" ? "" : base.origin;
  const memory = options.memory ?? createResponseMemory();
  const reserve = createAccountBodies(memory, service, clock);
  // A kept-alive socket may close at the moment of writing, and the outcome is unknown then. A paid request therefore has a
  // connection of its own. (A create with an unknown outcome is found by its app name, at no cost.)
  const pools =
    typeof base === "string"
      ? undefined
      : { shared: createPool(base.origin, options), fresh: createPool(base.origin, options) };

  async function start(request: TransportRequest, { state, begin, touch }: Guard): Promise<HttpAnswer> {
    const { operation, beforeWrite } = request;
    const { paid, accept = "application/json" } = OPERATIONS[operation];
    const key = keys.current();
    if (pools === undefined || typeof base === "string") {
      throw misconfigured(operation, typeof base === "string" ? base : "has no base URL");
    }
    if (!/^[\x21-\x7e]+$/.test(key)) {
      throw misconfigured(
        operation,
        key === "" ? "the API key is empty" : "the API key has characters that a header cannot carry",
      );
    }
    if (!/^\/[\x21-\x7e]*$/.test(request.path)) throw misconfigured(operation, `path "${request.path}" is not a path`);
    // A request waits for a connection until then: it is not sent, and its timer does not run.
    const onStart = (abort: (reason: unknown) => void) => {
      begin(abort);
      if (state.written) throw new Error("the request was already written once");
      try {
        beforeWrite?.();
      } catch (error) {
        state.refusal = { error };
        throw error;
      }
      // undici writes right after this returns.
      state.written = true;
      touch();
    };
    const sent = {
      origin: base.origin,
      method: request.method ?? OPERATIONS[operation].method,
      path: `${base.prefix}${request.path}`,
      headers: {
        authorization: `Bearer ${key}`,
        accept,
        ...(request.body === undefined ? {} : { "content-type": "application/json" }),
      },
      body: request.body ?? null,
      reset: paid,
    };
    return exchange(paid ? pools.fresh : pools.shared, sent, { onStart });
  }

  /** Runs one exchange under its timer and signal. Every failure becomes a `ServiceError`. */
  async function guarded<T>(request: TransportRequest, run: (guard: Guard) => Promise<T>): Promise<T> {
    const guard = createGuard(request.signal, clock, timeoutMs);
    try {
      return await run(guard);
    } catch (error) {
      guard.release();
      guard.end(error); // nobody reads the rest of a response
      if (guard.state.refusal !== undefined) throw guard.state.refusal.error;
      throw failureOf(request.operation, error, guard.state, sanitizer(request.hidden));
    }
  }

  async function accepted(request: TransportRequest, guard: Guard): Promise<HttpAnswer> {
    guard.throwIfEnded();
    const response = await start(request, guard);
    guard.state.status = response.statusCode;
    if (response.statusCode >= 200 && response.statusCode < 300) return response;
    throw refusal(request.operation, await readRefusal(response), sanitizer(request.hidden), clock.now());
  }

  return {
    send: (request) =>
      guarded(request, async (guard) => {
        const response = await accepted(request, guard);
        const body = await readBody(response, request.operation, reserve, guard);
        guard.release();
        return { status: response.statusCode, ...body };
      }),
    open: (request) =>
      guarded(request, async (guard) => {
        const response = await accepted(request, guard);
        return {
          status: response.statusCode,
          chunks: chunksOf(response.body, request.operation, guard, sanitizer(request.hidden)),
          reserve: (bytes) => memory.take(service, bytes, guard.signal()),
        };
      }),
    sanitizer,
    close: async () => {
      await Promise.all([pools?.shared.close(), pools?.fresh.close()]);
    },
  };
}

/** Former keys that are kept out of messages too: the service can quote the key of an earlier request. */
const KEYS_REMEMBERED = 3;

function createKeyMemory(apiKey: () => string): { current(): string; all(): readonly string[] } {
  let recent: string[] = [];
  const current = () => {
    const key = apiKey().trim();
    if (key !== "" && key !== recent[0]) {
      recent = [key, ...recent.filter((one) => one !== key)].slice(0, KEYS_REMEMBERED);
    }
    return key;
  };
  return {
    current,
    all() {
      current();
      return recent;
    },
  };
}

async function* chunksOf(
  body: AsyncIterable<Buffer>,
  operation: Operation,
  guard: Guard,
  sanitize: Sanitizer,
): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of body) {
      guard.rest();
      yield chunk;
      guard.touch();
    }
  } catch (error) {
    throw failureOf(operation, error, guard.state, sanitize);
  } finally {
    guard.release();
  }
}

/** Reads enough of a refusal to understand it. One that breaks off still has its status. */
async function readRefusal(response: HttpAnswer): Promise<RefusedAnswer> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of response.body) {
      chunks.push(chunk);
      size += chunk.length;
      if (size > MAX_REFUSAL_BYTES) break;
    }
  } catch {
    // The status alone decides then: a partial body cannot be parsed and counts as a gateway's.
    chunks.push(Buffer.from(" (cut off)"));
  }
  return {
    status: response.statusCode,
    contentType: String(response.headers["content-type"] ?? ""),
    retryAfter: response.headers["retry-after"]?.toString(),
    body: Buffer.concat(chunks).toString("utf8"),
  };
}

function misconfigured(operation: Operation, message: string): ServiceError {
  return new ServiceError({ operation, kind: "Misconfigured", delivery: "NotSent", message });
}
