import type { z } from "zod";
import type { CallEvent, SendOptions } from "../call-options.ts";
import { cleanWords, ServiceError } from "../errors.ts";
import { OPERATIONS, type Operation, type PathOverrides } from "../operations.ts";
import { readErrorBody, readReportedError } from "../wire/errors.ts";
import type { Breaker } from "./breaker.ts";
import { words } from "./classify.ts";
import type { Limiter } from "./limiter.ts";
import type { Transport, TransportRequest } from "./transport.ts";

export type CallOptions = SendOptions & {
  /** Higher goes first at the limiter; default 0. */
  priority?: number | undefined;
  /** Values of the body (of Secrets) that no error shows, even when the service quotes them. */
  hidden?: readonly string[] | undefined;
};

type Query = Record<string, string | number | undefined>;

/** What a call sends and how its response is parsed. `rules` check the body, the query or the path. */
type CallRequest<A extends z.ZodType | undefined = undefined> = {
  /** Replace the operation's own. */
  method?: TransportRequest["method"];
  template?: string;
  path?: Record<string, string>;
  query?: Query;
  body?: unknown;
  rules?: z.ZodType;
  answer?: A;
  /** Whether an answer carries nothing that was asked for. Such an answer is no success when it reports an error. */
  isEmpty?(value: A extends z.ZodType ? z.output<A> : undefined): boolean;
};

export type CallerOptions = {
  transport: Transport;
  limiter: Limiter;
  breaker?: Breaker | undefined;
  paths?: PathOverrides;
  onCall?: ((event: CallEvent) => void) | undefined;
};

type Prepared = Pick<TransportRequest, "method" | "path" | "body">;

/** Every operation is called in these steps: check, wait, commit, send once, parse, report. */
export function createCaller({ transport, limiter, breaker, paths = {}, onCall }: CallerOptions) {
  const turns = createTurns({ limiter, breaker, onCall });

  async function call(operation: Operation, request: CallRequest, options?: CallOptions): Promise<void>;
  async function call<A extends z.ZodType>(
    operation: Operation,
    request: CallRequest<A>,
    options?: CallOptions,
  ): Promise<z.output<A>>;
  async function call(
    operation: Operation,
    request: CallRequest<z.ZodType | undefined>,
    options: CallOptions = {},
  ): Promise<unknown> {
    const prepared = prepare(operation, request, paths);
    await turns.enter(operation, options);
    let startedAt = performance.now();
    const beforeWrite = () => {
      breaker?.recheck(operation); // as above, while the call waited for a connection
      options.beforeSend?.();
      startedAt = performance.now();
    };
    try {
      const { signal, hidden } = options;
      const answer = await transport.send({ operation, ...prepared, signal, hidden, beforeWrite });
      const value = readAnswer(operation, answer, request, { apiKey: transport.apiKey(), hidden });
      turns.leave(operation, startedAt, answer.status);
      return value;
    } catch (error) {
      turns.leave(operation, startedAt, error instanceof ServiceError ? error : aborted(operation, error));
      throw error;
    }
  }

  async function* stream<T>(
    operation: Operation,
    request: CallRequest,
    options: CallOptions = {},
    read: (status: number, chunks: AsyncIterable<Uint8Array>, apiKey: string) => AsyncIterable<T>,
  ): AsyncGenerator<T> {
    const prepared = prepare(operation, request, paths);
    await turns.enter(operation, options);
    let startedAt = performance.now();
    const beforeWrite = () => {
      breaker?.recheck(operation);
      options.beforeSend?.();
      startedAt = performance.now();
    };
    // The outcome when the reader stops early.
    let outcome: number | ServiceError = new ServiceError({
      operation,
      kind: "Aborted",
      delivery: "Unknown",
      message: "the reader left before the stream ended",
    });
    try {
      const answer = await transport.open({ operation, ...prepared, signal: options.signal, beforeWrite });
      yield* read(answer.status, answer.chunks, transport.apiKey());
      outcome = answer.status;
    } catch (error) {
      if (error instanceof ServiceError) outcome = error;
      throw error;
    } finally {
      turns.leave(operation, startedAt, outcome);
    }
  }

  return { call, stream };
}

type Turns = {
  /** Resolves when the call may be sent. Every call that was let in must leave. */
  enter(operation: Operation, options: CallOptions): Promise<void>;
  /** The call ended. `outcome`: the status of a 2xx response, or the error. */
  leave(operation: Operation, startedAt: number, outcome: number | ServiceError): void;
};

/** The wait for the breaker, the rate limit and the journal, and what they learn from the outcome. */
function createTurns({ limiter, breaker, onCall }: Pick<CallerOptions, "limiter" | "breaker" | "onCall">): Turns {
  return {
    async enter(operation, { signal, priority, commit }) {
      breaker?.check(operation); // before it takes a turn at the rate limit
      const orAborted = (turn: Promise<void>) =>
        turn.catch((cause: unknown) => {
          throw aborted(operation, cause);
        });
      await orAborted(limiter.acquire(operation, { signal, priority }));
      breaker?.enter(operation);
      try {
        await commit?.();
        await orAborted(limiter.depart(operation, signal));
        breaker?.recheck(operation); // during a commit, another call may have failed or been refused for its key
        if (signal?.aborted === true) throw aborted(operation, signal.reason);
      } catch (error) {
        breaker?.ended(operation, aborted(operation, error));
        throw error;
      }
    },
    leave(operation, startedAt, outcome) {
      breaker?.ended(operation, outcome instanceof ServiceError ? outcome : undefined);
      if (outcome instanceof ServiceError && outcome.kind === "RateLimited") {
        limiter.rateLimited(operation, outcome.retryAfterMs);
      } else if (typeof outcome === "number" || outcome.status !== undefined) {
        limiter.succeeded(operation);
      }
      onCall?.(eventOf(operation, performance.now() - startedAt, outcome));
    },
  };
}

function eventOf(operation: Operation, durationMs: number, outcome: number | ServiceError): CallEvent {
  if (typeof outcome === "number") return { operation, status: outcome, durationMs };
  const { kind, delivery, status } = outcome;
  return { operation, errorKind: kind, delivery, durationMs, ...(status === undefined ? {} : { status }) };
}

function prepare(operation: Operation, request: CallRequest<z.ZodType | undefined>, paths: PathOverrides): Prepared {
  const checked = checkRules(operation, request);
  return {
    method: request.method,
    path: pathOf(request.template ?? paths[operation] ?? OPERATIONS[operation].path, request.path, request.query),
    body: checked === undefined ? undefined : JSON.stringify(checked),
  };
}

/** Checks the call against the rules of the interface. Returns the body as it is sent. */
function checkRules(operation: Operation, request: CallRequest<z.ZodType | undefined>): unknown {
  if (request.rules === undefined) return request.body;
  const checked = request.rules.safeParse(request.body ?? request.query ?? request.path);
  if (checked.success) return request.body === undefined ? undefined : checked.data;
  const reason = checked.error.issues.map((issue) => `${issue.path.join(".")} ${issue.message}`.trim()).join("; ");
  throw new ServiceError({
    operation,
    kind: "InvalidRequest",
    delivery: "NotSent",
    reason: cleanWords(reason, ""),
    message: `the request breaks the interface's rules: ${cleanWords(reason, "")}`,
  });
}

function pathOf(template: string, path: Record<string, string> = {}, query: Query = {}): string {
  const filled = Object.entries(path).reduce(
    (result, [name, value]) => result.replaceAll(`{${name}}`, encodeURIComponent(value)),
    template,
  );
  const shown = Object.entries(query).filter(([, value]) => value !== undefined);
  const search = new URLSearchParams(shown.map(([name, value]): [string, string] => [name, String(value)])).toString();
  if (search === "") return filled;
  return `${filled}${filled.includes("?") ? "&" : "?"}${search}`;
}

/**
 * Reads a 2xx. Without a schema any body will do that does not report an error. With one, an answer that carries what was
 * asked for is a success whatever else it says: a task that runs must not be lost.
 */
function readAnswer(
  operation: Operation,
  answer: { status: number; body: Buffer },
  { answer: schema, isEmpty }: Pick<CallRequest<z.ZodType | undefined>, "answer" | "isEmpty">,
  { apiKey, hidden }: { apiKey: string; hidden: readonly string[] | undefined },
): unknown {
  const text = answer.body.toString("utf8");
  // No cause: a parser's error quotes its input, and the response may quote the key.
  const unreadable = (why: string) =>
    new ServiceError({
      operation,
      kind: "UnreadableResponse",
      delivery: "Unknown",
      status: answer.status,
      reason: cleanWords(readErrorBody(text)?.message ?? "", apiKey, hidden),
      message: `the answer ${answer.status} ${cleanWords(why, apiKey, hidden)}`,
    });
  const reported = () => {
    const body = readReportedError(text);
    return body === undefined ? undefined : `reports an error: ${words(body) || body.code}`;
  };
  if (schema === undefined) {
    const error = reported();
    if (error !== undefined) throw unreadable(error);
    return undefined;
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw unreadable(`cannot be read: ${notJSON(text)}`);
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) {
    const error = isEmpty?.(parsed.data) === true ? reported() : undefined;
    if (error !== undefined) throw unreadable(error);
    return parsed.data;
  }
  const problems = parsed.error.issues.map((issue) => `${issue.path.join(".")} ${issue.message}`.trim()).join("; ");
  throw unreadable(reported() ?? `cannot be read: ${problems}`);
}

/** A page of something between us and the service is quoted; a torn answer of the service may hold anybody's secrets. */
function notJSON(text: string): string {
  if (text === "") return "it is empty";
  if (/^\s*[{["]/.test(text)) return `it is not complete JSON (${text.length} characters)`;
  return `it is not JSON: ${text.slice(0, 4_096)}`;
}

function aborted(operation: Operation, cause: unknown): ServiceError {
  return new ServiceError({
    operation,
    kind: "Aborted",
    delivery: "NotSent",
    message: "the call was aborted before it was sent",
    cause,
  });
}
