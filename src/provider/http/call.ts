import { plainText } from "../../base/sanitizer.ts";
import { cleanWords, ServiceError } from "../errors.ts";
import { OPERATIONS, type Operation, type PathOverrides } from "../operations.ts";
import { type Answer, type AnswerRules, readerOf } from "./answer.ts";
import { type CallOptions, createSendings, type SendingOptions } from "./sending.ts";
import type { Transport, TransportRequest } from "./transport.ts";

type Query = Record<string, string | number | undefined>;

/** What a call sends. */
type CallRequest = {
  /** Replace the operation's own. */
  method?: TransportRequest["method"];
  template?: string;
  /** Of the object that the request names. Never empty: a path without it can name all objects. */
  id?: string;
  path?: Record<string, string>;
  query?: Query;
  body?: unknown;
};

type WithAnswer<A, R> = AnswerRules<A, R> & Required<Pick<AnswerRules<A, R>, "answer">>;

/** `paths`: Account.spec.paths. */
export type CallerOptions = SendingOptions & { transport: Transport; paths?: PathOverrides };

type Prepared = Pick<TransportRequest, "method" | "path" | "body">;

/** Every operation is called in these steps: check the request, send it once (sending.ts), parse the response. */
export function createCaller({ transport, paths = {}, ...options }: CallerOptions) {
  const { clock } = options;
  const begin = createSendings(options);

  async function call(
    operation: Operation,
    request: CallRequest & { answer?: never },
    options?: CallOptions,
  ): Promise<unknown>;
  async function call<A, R = never>(
    operation: Operation,
    request: CallRequest & WithAnswer<A, R>,
    options?: CallOptions,
  ): Promise<A>;
  async function call<A, R>(
    operation: Operation,
    request: CallRequest & AnswerRules<A, R>,
    options: CallOptions = {},
  ): Promise<unknown> {
    const prepared = prepare(operation, request, paths);
    const { signal, hidden } = options;
    return exchange(operation, options, async (beforeWrite) => {
      const { status, body, release } = await transport.send({ ...prepared, operation, signal, hidden, beforeWrite });
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
    const sending = await begin(operation, options);
    let ended: unknown; // undefined: the reader stops early
    try {
      const answer = await sending.send((beforeWrite) => open(operation, prepared, options, beforeWrite));
      yield* read(answer);
      ended = answer.status;
    } catch (error) {
      ended = error;
      throw error;
    } finally {
      sending.end(ended);
    }
  }

  /** Runs one exchange between the gate and its report. */
  async function exchange<T>(
    operation: Operation,
    options: CallOptions,
    run: (beforeWrite: () => void) => Promise<{ status: number; value: T }>,
  ): Promise<T> {
    const sending = await begin(operation, options);
    let ended: unknown;
    try {
      const { status, value } = await sending.send(run);
      ended = status;
      return value;
    } catch (error) {
      ended = error;
      throw error;
    } finally {
      sending.end(ended);
    }
  }

  async function open(
    operation: Operation,
    prepared: Prepared,
    { signal, hidden }: CallOptions,
    beforeWrite: () => void,
  ): Promise<Answer> {
    const { status, chunks, reserve } = await transport.open({ ...prepared, operation, signal, hidden, beforeWrite });
    const sanitize = transport.sanitizer(hidden);
    return { operation, status, chunks, reserve, sanitize, ...readerOf(operation, status, sanitize, clock) };
  }

  return { call, receive, stream };
}

function prepare(operation: Operation, request: CallRequest, paths: PathOverrides): Prepared {
  if (request.id === "") throw breach(operation, "the identifier of the object is empty");
  const dots = Object.entries(request.path ?? {}).find(([, value]) => value === "." || value === "..");
  if (dots !== undefined) throw breach(operation, `${dots[0]} must not be "." or "..", which name another path`);
  return {
    method: request.method,
    path: pathOf(request.template ?? paths[operation] ?? OPERATIONS[operation].path, request.path, request.query),
    body: request.body === undefined ? undefined : JSON.stringify(request.body),
  };
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
  if (shown.length === 0) return filled;
  const search = new URLSearchParams(shown.map(([name, value]): [string, string] => [name, String(value)])).toString();
  return `${filled}${filled.includes("?") ? "&" : "?"}${search}`;
}
