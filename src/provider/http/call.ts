import type * as z from "zod";
import type { Clock } from "../../clock.ts";
import { plainText } from "../../text/sanitizer.ts";
import type { CallEvent, SendOptions } from "../call-options.ts";
import { cleanWords, ServiceError } from "../errors.ts";
import { OPERATIONS, type Operation, type PathOverrides } from "../operations.ts";
import type { PageRecords } from "../wire/pages.ts";
import { type Answer, readerOf } from "./answer.ts";
import type { Breaker } from "./breaker.ts";
import type { Limiter } from "./limiter.ts";
import type { Transport, TransportRequest } from "./transport.ts";

export type CallOptions = SendOptions & {
  /** Higher goes first at the limiter; default 0. */
  priority?: number | undefined;
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
  /** The records of a page are read in turns of the event loop; `answer` then reads the rest. */
  page?: PageRecords;
};

export type CallerOptions = {
  transport: Transport;
  clock: Clock;
  limiter: Limiter;
  breaker?: Breaker | undefined;
  paths?: PathOverrides;
  onCall?: ((event: CallEvent) => void) | undefined;
};

type Prepared = Pick<TransportRequest, "method" | "path" | "body">;

/** Every operation is called in these steps: check, wait, commit, send once, parse, report. */
export function createCaller({ transport, clock, limiter, breaker, paths = {}, onCall }: CallerOptions) {
  const turns = createTurns({ clock, limiter, breaker, onCall });

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
    const { signal, hidden } = options;
    return exchange(operation, options, async (beforeWrite) => {
      const { status, body, release } = await transport.send({ operation, ...prepared, signal, hidden, beforeWrite });
      try {
        const { read } = readerOf(operation, status, transport.sanitizer(hidden), clock);
        return { status, value: await read(body, request) };
      } finally {
        release();
      }
    });
  }

  /** Reads the body as it arrives. */
  async function receive<T>(
    operation: Operation,
    request: CallRequest,
    options: CallOptions = {},
    read: (answer: Answer) => Promise<T>,
  ): Promise<T> {
    const prepared = prepare(operation, request, paths);
    return exchange(operation, options, async (beforeWrite) => {
      const answer = await open(operation, prepared, options, beforeWrite);
      return { status: answer.status, value: await read(answer) };
    });
  }

  async function* stream<T>(
    operation: Operation,
    request: CallRequest,
    options: CallOptions = {},
    read: (answer: Answer) => AsyncIterable<T>,
  ): AsyncGenerator<T> {
    const prepared = prepare(operation, request, paths);
    await turns.enter(operation, options);
    const sending = watchSending(operation, options);
    // The outcome when the reader stops early.
    let outcome: number | ServiceError = left(operation);
    try {
      const answer = await open(operation, prepared, options, sending.beforeWrite);
      yield* read(answer);
      outcome = answer.status;
    } catch (error) {
      if (error instanceof ServiceError) outcome = error;
      throw error;
    } finally {
      turns.leave(operation, sending.startedAt(), outcome);
    }
  }

  /** Runs one exchange between its turn and its report. */
  async function exchange<T>(
    operation: Operation,
    options: CallOptions,
    run: (beforeWrite: () => void) => Promise<{ status: number; value: T }>,
  ): Promise<T> {
    await turns.enter(operation, options);
    const sending = watchSending(operation, options);
    try {
      const { status, value } = await run(sending.beforeWrite);
      turns.leave(operation, sending.startedAt(), status);
      return value;
    } catch (error) {
      const other = sending.sent() ? left(operation) : aborted(operation, error);
      turns.leave(operation, sending.startedAt(), error instanceof ServiceError ? error : other);
      throw error;
    }
  }

  /** The last check before the first byte, and when that was. */
  function watchSending(operation: Operation, { beforeSend }: CallOptions) {
    let startedAt = clock.monotonic();
    let sent = false;
    const beforeWrite = () => {
      breaker?.recheck(operation); // as in `enter`, while the call waited for a connection
      beforeSend?.();
      startedAt = clock.monotonic();
      sent = true;
    };
    return { beforeWrite, startedAt: () => startedAt, sent: () => sent };
  }

  async function open(
    operation: Operation,
    prepared: Prepared,
    { signal, hidden }: CallOptions,
    beforeWrite: () => void,
  ): Promise<Answer> {
    const { status, chunks, reserve } = await transport.open({ operation, ...prepared, signal, hidden, beforeWrite });
    const sanitize = transport.sanitizer(hidden);
    const { parse, unreadable } = readerOf(operation, status, sanitize, clock);
    return {
      operation,
      status,
      chunks,
      reserve,
      sanitize,
      unreadable,
      parse: (text, schema) => parse(text, schema) as z.output<typeof schema>,
    };
  }

  return { call, receive, stream };
}

type Turns = {
  /** Resolves when the call may be sent. Every call that was let in must leave. */
  enter(operation: Operation, options: CallOptions): Promise<void>;
  /** The call ended. `outcome`: the status of a 2xx response, or the error. */
  leave(operation: Operation, startedAt: number, outcome: number | ServiceError): void;
};

/** The wait for the breaker, the rate limit and the journal, and what they learn from the outcome. */
function createTurns({
  clock,
  limiter,
  breaker,
  onCall,
}: Pick<CallerOptions, "clock" | "limiter" | "breaker" | "onCall">): Turns {
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
      onCall?.(eventOf(operation, clock.monotonic() - startedAt, outcome));
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
  const dots = Object.entries(request.path ?? {}).find(([, value]) => value === "." || value === "..");
  if (dots !== undefined) throw breach(operation, `${dots[0]} must not be "." or "..", which name another path`);
  if (request.rules === undefined) return request.body;
  const checked = request.rules.safeParse(request.body ?? request.query ?? request.path);
  if (checked.success) return request.body === undefined ? undefined : checked.data;
  const issues = checked.error.issues.map((issue) => `${issue.path.join(".")} ${issue.message}`.trim());
  throw breach(operation, issues.join("; "));
}

function breach(operation: Operation, reason: string): ServiceError {
  return new ServiceError({
    operation,
    kind: "InvalidRequest",
    delivery: "NotSent",
    reason: cleanWords(reason, plainText),
    message: `the request breaks the interface's rules: ${cleanWords(reason, plainText)}`,
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

function aborted(operation: Operation, cause: unknown): ServiceError {
  return new ServiceError({
    operation,
    kind: "Aborted",
    delivery: "NotSent",
    message: "the call was aborted before it was sent",
    cause,
  });
}

/** The reader of the response ended it. */
function left(operation: Operation): ServiceError {
  return new ServiceError({
    operation,
    kind: "Aborted",
    delivery: "Unknown",
    message: "the reader left before the stream ended",
  });
}
