import type * as z from "zod";
import { plainText } from "../../base/sanitizer.ts";
import type { SendOptions } from "../call-options.ts";
import { cleanWords, ServiceError } from "../errors.ts";
import { OPERATIONS, type Operation, type PathOverrides } from "../operations.ts";
import type { PageRecords } from "../wire/pages.ts";
import { type Answer, readerOf } from "./answer.ts";
import type { Transport, TransportRequest } from "./transport.ts";
import { aborted, createTurns, type TurnsOptions } from "./turns.ts";

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

export type CallerOptions = TurnsOptions & { transport: Transport; paths?: PathOverrides };

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
    const sending = startSending(operation, options);
    // The outcome when the reader stops early.
    let outcome: number | ServiceError = left(operation);
    try {
      const answer = await sending.send((beforeWrite) => open(operation, prepared, options, beforeWrite));
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
    const sending = startSending(operation, options);
    try {
      const { status, value } = await sending.send(run);
      turns.leave(operation, sending.startedAt(), status);
      return value;
    } catch (error) {
      const other = sending.sent() ? left(operation) : aborted(operation, error);
      turns.leave(operation, sending.startedAt(), error instanceof ServiceError ? error : other);
      throw error;
    }
  }

  /** The last checks before the first byte, and when that was. */
  function startSending(operation: Operation, { beforeSend, signal }: CallOptions) {
    let startedAt = clock.monotonic();
    let sent = false;

    /** `run` sends at most once. It runs again when it had to wait for a connection for so long that its turn has lapsed. */
    async function send<T>(run: (beforeWrite: () => void) => Promise<T>): Promise<T> {
      for (;;) {
        const departedAt = clock.monotonic();
        const beforeWrite = () => {
          breaker?.recheck(operation); // as in `depart`, while the call waited for a connection
          if (!limiter.mayLeave(operation, clock.monotonic() - departedAt)) throw new LapsedTurnError();
          beforeSend?.();
          startedAt = clock.monotonic();
          sent = true;
        };
        try {
          return await run(beforeWrite);
        } catch (error) {
          if (!(error instanceof LapsedTurnError)) throw error;
        }
        await turns.depart(operation, signal);
      }
    }

    return { send, startedAt: () => startedAt, sent: () => sent };
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

/** Thrown right before the first byte: nothing was sent. */
class LapsedTurnError extends Error {
  override readonly name = "LapsedTurnError";
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

/** The reader of the response ended it. */
function left(operation: Operation): ServiceError {
  return new ServiceError({
    operation,
    kind: "Aborted",
    delivery: "Unknown",
    message: "the reader left before the stream ended",
  });
}
