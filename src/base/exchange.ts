import type { Dispatcher } from "undici";

/** A response whose head has arrived. */
export type HttpAnswer = {
  statusCode: number;
  headers: Record<string, string | string[] | undefined>;
  /** Can be read once. A reader that stops early ends the connection. */
  body: HttpBody;
};

/** `whole`: reads the body if it has arrived, which a small one nearly always has; undefined: iterate. Default: iterate. */
export type HttpBody = AsyncIterable<Buffer> & { whole?(): Buffer | undefined };

export type ExchangeOptions = {
  signal?: AbortSignal | undefined;
  /**
   * A connection takes the request, and writes it right after. When it throws, nothing is sent, and its error is thrown. `abort` ends the
   * request and its response.
   */
  onStart?: ((abort: (reason: unknown) => void) => void) | undefined;
};

const EMPTY = Buffer.alloc(0);
/** Bytes of a body that wait for their reader before the connection pauses. */
const WAITING_BYTES = 64 * 1024;

/**
 * Sends one request through a dispatcher of undici. An abort ends the request when it has a connection, and its response.
 * @throws what ends the request before the head of its response: the signal's reason, or the error of the connection
 */
export function exchange(
  dispatcher: Pick<Dispatcher, "dispatch">,
  request: Dispatcher.DispatchOptions,
  options: ExchangeOptions,
): Promise<HttpAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<HttpAnswer>();
  const handler = createHandler(options, resolve, reject);
  try {
    dispatcher.dispatch(request, handler);
  } catch (error) {
    reject(error);
  }
  return promise;
}

function createHandler(
  { signal, onStart }: ExchangeOptions,
  resolve: (answer: HttpAnswer) => void,
  reject: (error: unknown) => void,
): Dispatcher.DispatchHandler {
  const chunks: Buffer[] = [];
  let waitingBytes = 0;
  /** `error`: undefined after a whole response. */
  let ended: { error: unknown } | undefined;
  let controller: Dispatcher.DispatchController | undefined;
  /** Tells the reader that waits. */
  let wake: (() => void) | undefined;

  const abort = (reason: unknown) => controller?.abort(errorOf(reason));
  const onAbort = () => abort(signal?.reason);
  function end(error?: unknown): void {
    ended ??= { error };
    signal?.removeEventListener("abort", onAbort);
    // The controller has the request and the bytes of the head. V8 often moves this handler into the old generation, and keeps what it refers to.
    controller = undefined;
    tellReader();
  }
  function tellReader(): void {
    wake?.();
    wake = undefined;
  }
  async function* read(): AsyncGenerator<Buffer> {
    try {
      for (;;) {
        const chunk = ended?.error === undefined ? chunks.shift() : undefined;
        if (chunk !== undefined) {
          waitingBytes -= chunk.length;
          if (controller?.paused === true && waitingBytes < WAITING_BYTES) controller.resume();
          yield chunk;
        } else if (ended === undefined) {
          await new Promise<void>((go) => {
            wake = go;
          });
        } else if (ended.error === undefined) return;
        else throw ended.error;
      }
    } finally {
      if (ended === undefined) controller?.abort(new Error("the response is not read to its end"));
    }
  }

  function whole(): Buffer | undefined {
    if (ended === undefined || ended.error !== undefined) return undefined;
    const [first = EMPTY, ...others] = chunks.splice(0);
    return others.length === 0 ? first : Buffer.concat([first, ...others]);
  }

  signal?.addEventListener("abort", onAbort, { once: true });
  return {
    onRequestStart(started) {
      controller = started;
      try {
        signal?.throwIfAborted();
        onStart?.(abort);
      } catch (error) {
        reject(error);
        abort(error);
      }
    },
    onResponseStart(_, statusCode, headers) {
      if (statusCode >= 200) resolve({ statusCode, headers, body: { [Symbol.asyncIterator]: read, whole } });
    },
    onResponseData(started, chunk) {
      chunks.push(chunk);
      waitingBytes += chunk.length;
      if (waitingBytes >= WAITING_BYTES) started.pause();
      tellReader();
    },
    onResponseEnd: () => end(),
    onResponseError(_, error) {
      reject(error);
      end(error);
    },
  };
}

const errorOf = (reason: unknown) => (reason instanceof Error ? reason : new Error(String(reason)));

/** The whole body. `tooLarge`: the error of a body with more than `maxBytes`, whose connection ends. */
export async function bytesOf(
  body: HttpBody,
  maxBytes = Number.POSITIVE_INFINITY,
  tooLarge = (): Error => new Error(`the response has more than ${maxBytes} bytes`),
): Promise<Buffer> {
  const whole = body.whole?.();
  if (whole !== undefined && whole.length > maxBytes) throw tooLarge();
  if (whole !== undefined) return whole;
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > maxBytes) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, size);
}
