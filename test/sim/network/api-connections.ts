import { ANNOTATIONS } from "../../../src/api/v1alpha1/meta.ts";
import type { HttpAnswer } from "../../../src/base/exchange.ts";
import type { ApiRequest, Connections } from "../../../src/kube/connections.ts";
import type { Random } from "../../../src/simulator/random.ts";
import { failure, statusBody } from "../api-server/failures.ts";
import { type Json, type JsonValue, objectAt, parseJson, textAt } from "../api-server/json.ts";
import type { ApiServer, Lag, ServedWatch } from "../api-server/server.ts";
import { type ByteStream, createByteStream } from "../engine/byte-stream.ts";
import type { ProcessTime } from "../engine/process-clock.ts";
import { hashText, type Scheduler } from "../engine/scheduler.ts";
import {
  countFault,
  drawFault,
  drawLatency,
  type FaultCounts,
  type RecordWrite,
  type RequestFault,
  type Weather,
} from "./weather.ts";

export type ApiNetwork = {
  scheduler: Scheduler;
  server: ApiServer;
  weather: () => Weather;
  random: Random;
  counts: FaultCounts;
  /** A request is about to leave the process, or has left it. The process may end here. */
  onSend: (request: AnsweredRequest, moment: "Before" | "After") => void;
  /** A request took effect. */
  onEffect: (request: AnsweredRequest, status: number) => void;
  /** A fault refuses a write for its size or content. */
  onRefusal?: (request: AnsweredRequest) => void;
  /** Whether a change never reaches the watch. The watch ends some time later with 410, as if its version were gone. Default: none. */
  loses?: (line: Json) => boolean;
  /** The API server that this process lists and watches at lags behind now. Default: it does not. */
  lag?: () => Lag | undefined;
};

export type AnsweredRequest = { method: string; path: string; query: URLSearchParams; body: JsonValue | undefined };

/** Connections of one process to the API server, and what happens to its watches. */
export type ApiConnections = Connections & {
  /** Breaks every watch, in the middle of a line when `midLine`. */
  cutWatches(midLine: boolean): void;
  /** No watch gets anything more until the client gives it up. */
  silenceWatches(): void;
  /** Holds what watches get for so long. */
  delayWatches(ms: number): void;
  /** The process is dead: the API server ends its watches, and nobody reads what was on its way. */
  drop(): void;
};

const BOOKMARK_MS = 60_000;
/** From a lost change to the end of its watch. */
const GAP_MS = 1_000;
/** Longest delay of a request: longer than a takeover, and than the client waits. */
const LATEST_MS = 45_000;

type OpenWatch = { stream: ByteStream; silent: boolean; lastAt: number; unserve: () => void; close: () => void };

export function createApiConnections(
  { scheduler, server, weather, random, counts, onSend, onEffect, onRefusal, loses, lag = () => undefined }: ApiNetwork,
  time: ProcessTime,
  requestTimeoutMs: number,
): ApiConnections {
  const watches = new Set<OpenWatch>();
  /** Node keeps a signal of `AbortSignal.any`, and what listens to it, until the signal aborts or nothing listens. */
  const pending = new Set<() => void>();
  let heldUntil = 0;
  const latency = () => drawLatency(weather(), random);

  function send(request: ApiRequest): Promise<HttpAnswer> {
    return new Promise((resolve, reject) => {
      const { signal } = request;
      if (signal instanceof AbortSignal && signal.aborted) {
        reject(signal.reason);
        return;
      }
      let settled = false;
      const settle = (finish: () => void) => {
        if (settled) return;
        settled = true;
        cancelTimer();
        forget();
        finish();
      };
      const abort = () => settle(() => reject(signal instanceof AbortSignal ? signal.reason : new Error("aborted")));
      if (signal instanceof AbortSignal) signal.addEventListener("abort", abort, { once: true });
      const forget = () => {
        pending.delete(forget);
        if (signal instanceof AbortSignal) signal.removeEventListener("abort", abort);
      };
      pending.add(forget);
      const cancelTimer = time.clock.setTimeout(
        () => settle(() => reject(new Error("UND_ERR_HEADERS_TIMEOUT: Headers Timeout Error"))),
        requestTimeoutMs,
      );
      const deliver = (finish: () => void) => scheduler.after(latency(), () => time.deliver(() => settle(finish)));
      const broken = () => deliver(() => reject(new Error("UND_ERR_SOCKET: other side closed")));
      exchange(request, { resolve: (answer) => deliver(() => resolve(answer)), broken, isSettled: () => settled });
    });
  }

  type Reply = { resolve: (answer: HttpAnswer) => void; broken: () => void; isSettled: () => boolean };

  function exchange(request: ApiRequest, reply: Reply): void {
    const url = new URL(request.path, "http://api");
    const body = typeof request.body === "string" ? parseJson(request.body) : undefined;
    const sent: AnsweredRequest = { method: request.method, path: url.pathname, query: url.searchParams, body };
    if (time.alive()) onSend(sent, "Before");
    if (!time.alive()) return;
    const { only, down } = weather();
    const isHit = down || only === undefined || only === recordWriteOf(sent);
    const fault = isHit ? drawFault(weather(), random, sent.method) : undefined;
    transmit(request, { url, sent, fault, reply });
    onSend(sent, "After");
  }

  type Sending = { url: URL; sent: AnsweredRequest; fault: RequestFault | undefined; reply: Reply };

  function transmit(request: ApiRequest, sending: Sending): void {
    const { fault, reply, sent } = sending;
    if (fault !== undefined) countFault(counts, `api ${fault}`);
    if (fault === "invalid" || fault === "tooLarge") onRefusal?.(sent);
    const early = fault === undefined ? undefined : EARLY[fault];
    if (fault === "refused" || fault === "requestLost") reply.broken();
    else if (early !== undefined) reply.resolve(failed(...early));
    else if (fault !== "requestSwallowed") {
      const { until = 0 } = weather();
      const stalledMs = fault === "stalled" ? Math.max(0, until - scheduler.now()) : 0;
      const late = fault === "late" ? random.between(1_000, LATEST_MS) : stalledMs;
      scheduler.after(late + latency(), () => arrive(request, sending));
    }
  }

  function arrive(request: ApiRequest, { url, sent, fault, reply }: Sending): void {
    const result = server.call({ ...sent, query: url.searchParams, lag: lag() });
    if ("watch" in result) {
      if (reply.isSettled() || !time.alive() || fault === "responseSwallowed") return;
      if (fault === undefined || fault === "late" || fault === "stalled") openWatch(request, result.watch, reply);
      else reply.broken();
      return;
    }
    onEffect(sent, result.status);
    const content = typeof request.body === "string" ? ` ${hashText(request.body).toString(16)}` : "";
    scheduler.trace(`api ${sent.method} ${sent.path}${content} ${result.status} ${fault ?? ""}`);
    if (fault === "responseLost" || fault === "truncated") reply.broken();
    else if (fault === "errorAfter" || fault === "gatewayAfter") reply.resolve(failed(504, "Timeout"));
    else if (fault !== "responseSwallowed") reply.resolve(answerOf(result.status, JSON.stringify(result.body)));
  }

  function openWatch(request: ApiRequest, served: ServedWatch, reply: Reply): void {
    const stream = createByteStream();
    const watch: OpenWatch = { stream, silent: false, lastAt: 0, unserve: () => unserve(), close: () => close() };
    const inactivityMs = request.bodyTimeout ?? requestTimeoutMs;
    const idle = () => close(new Error("UND_ERR_BODY_TIMEOUT: Body Timeout Error"));
    let cancelIdle = time.clock.setTimeout(idle, inactivityMs);
    const push = (line: JsonValue) => {
      const text = `${JSON.stringify(line)}\n`;
      // Lines of one connection never overtake each other.
      watch.lastAt = Math.max(watch.lastAt + 0.001, scheduler.now() + latency(), heldUntil);
      scheduler.after(watch.lastAt - scheduler.now(), () =>
        time.deliver(() => {
          if (watch.silent || !watches.has(watch)) return;
          cancelIdle();
          cancelIdle = time.clock.setTimeout(idle, inactivityMs);
          stream.push(text);
        }),
      );
    };
    let unfollow = () => {};
    let isBehind = served.lag !== undefined;
    const change = (line: Json) => {
      if (loses?.(line) !== true) return push(line);
      unfollow();
      scheduler.after(GAP_MS, () => {
        push({ type: "ERROR", object: statusBody(failure.expired("a change was lost")) });
        end();
      });
    };
    const follow = () => {
      isBehind = false;
      for (const line of served.lag?.missed() ?? []) push(line);
      unfollow = served.follow(change);
    };
    const cancelLag = served.lag === undefined ? () => {} : scheduler.after(served.lag.until - scheduler.now(), follow);
    if (!isBehind) follow();
    const cancelBookmarks = repeat(scheduler, BOOKMARK_MS, () => {
      const line = isBehind ? undefined : served.bookmark();
      if (line !== undefined) push(line);
    });
    const end = () => scheduler.after(Math.max(0, watch.lastAt - scheduler.now()), () => time.deliver(() => close()));
    const cancelEnd = scheduler.after(served.timeoutMs, end);
    function unserve(): void {
      watches.delete(watch);
      unfollow();
      for (const cancel of [cancelLag, cancelBookmarks, cancelEnd, cancelIdle]) cancel();
    }
    function close(error?: Error): void {
      if (!watches.has(watch)) return;
      unserve();
      if (error === undefined) stream.end();
      else stream.fail(error);
    }
    watches.add(watch);
    const { signal } = request;
    if (signal instanceof AbortSignal) {
      signal.addEventListener("abort", () => close(new Error("the watch was aborted")), { once: true });
    }
    for (const line of served.first) push(line);
    reply.resolve({ statusCode: 200, headers: {}, body: { [Symbol.asyncIterator]: readUntil } });
    async function* readUntil() {
      try {
        yield* stream;
      } finally {
        close();
      }
    }
  }

  return {
    send,
    async close() {
      for (const watch of [...watches]) watch.close();
    },
    cutWatches(midLine) {
      for (const watch of [...watches]) {
        if (midLine) watch.stream.push('{"type":"MODI');
        time.deliver(watch.close);
      }
    },
    silenceWatches() {
      for (const watch of watches) watch.silent = true;
    },
    delayWatches(ms) {
      heldUntil = scheduler.now() + ms;
    },
    drop() {
      for (const watch of [...watches]) watch.unserve();
      for (const forget of [...pending]) forget();
    },
  };
}

/**
 * What a request to the API server writes of a paid request: a status shows it until the next one. An outcome that is written alone, with
 * the conditions of the record, is none.
 */
function recordWriteOf({ method, body }: AnsweredRequest): RecordWrite | undefined {
  if ((method !== "PATCH" && method !== "PUT") || body === undefined) return undefined;
  if (textAt(objectAt(objectAt(body, "metadata"), "annotations"), ANNOTATIONS.create) !== undefined) return "Record";
  const status = objectAt(body, "status");
  const state = textAt(status["submission"], "state");
  if (state === "Intended") return "Record";
  const shows = Array.isArray(status["conditions"]) ? status["conditions"].map((one) => textAt(one, "reason")) : [];
  return state !== undefined && !shows.includes("Submitting") ? "Outcome" : undefined;
}

const EARLY: { [fault in RequestFault]?: [status: number, reason: string] } = {
  errorBefore: [500, "InternalError"],
  gatewayBefore: [503, "ServiceUnavailable"],
  throttled: [429, "TooManyRequests"],
  invalid: [422, "Invalid"],
  tooLarge: [413, "RequestEntityTooLarge"],
};

function failed(status: number, reason: string): HttpAnswer {
  const body = { kind: "Status", status: "Failure", code: status, reason, message: `${reason}: a simulated fault` };
  return { ...answerOf(status, JSON.stringify(body)), headers: status === 429 ? { "retry-after": "1" } : {} };
}

export function answerOf(statusCode: number, text: string): HttpAnswer {
  return { statusCode, headers: {}, body: bodyOf(text) };
}

function bodyOf(text: string): HttpAnswer["body"] {
  return {
    async *[Symbol.asyncIterator]() {
      yield Buffer.from(text);
    },
  };
}

function repeat(scheduler: Scheduler, everyMs: number, run: () => void): () => void {
  let cancel = scheduler.after(everyMs, next);
  function next(): void {
    run();
    cancel = scheduler.after(everyMs, next);
  }
  return () => cancel();
}
