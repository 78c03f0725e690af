import type { Dispatcher } from "undici";
import type { CoreRequest } from "../../../src/simulator/core.ts";
import { parseJson } from "../api-server/json.ts";

export type Response = { status: number; headers: Record<string, string>; text: string };

/** One request of undici's: its handler is called as over a connection. */
export type Exchange = {
  /** A connection takes the request. False: it was given up before. */
  start(): boolean;
  /** `cut`: the response breaks off. */
  answer(response: Response, cut?: boolean): void;
  fail(message: string): void;
};

/**
 * @param alive whether the process still runs: a dead one gets nothing any more
 * @param onEnd called when the process has the whole response, or when none will come
 */
export function createExchange(
  handler: Dispatcher.DispatchHandler,
  alive: () => boolean,
  onEnd: (response: Response | undefined) => void = () => {},
): Exchange {
  let ended = false;
  const state: { reason: Error | null } = { reason: null };
  const controller: Dispatcher.DispatchController = {
    get aborted() {
      return state.reason !== null;
    },
    paused: false,
    get reason() {
      return state.reason;
    },
    abort(reason) {
      if (ended) return;
      ended = true;
      state.reason = reason;
      onEnd(undefined);
      handler.onResponseError?.(controller, reason);
    },
    pause: () => {},
    resume: () => {},
  };

  function fail(message: string): void {
    if (ended || !alive()) return;
    ended = true;
    onEnd(undefined);
    handler.onResponseError?.(controller, new Error(message));
  }

  return {
    start() {
      if (ended) return false;
      handler.onRequestStart?.(controller, null);
      return !ended;
    },
    fail,
    answer({ status, headers, text }, cut = false) {
      if (ended || !alive()) return;
      const bytes = Buffer.from(text);
      handler.onResponseStart?.(controller, status, headers, "");
      if (ended) return;
      handler.onResponseData?.(controller, cut ? bytes.subarray(0, Math.floor(bytes.length / 2)) : bytes);
      if (cut) fail("other side closed");
      if (ended) return;
      ended = true;
      onEnd({ status, headers, text });
      handler.onResponseEnd?.(controller, {});
    },
  };
}

/** What the core of the simulator is asked. */
export function requestOf({ method, path, body, headers }: Dispatcher.DispatchOptions): CoreRequest {
  const url = new URL(path, "http://service");
  const given =
    headers !== null && typeof headers === "object" && "authorization" in headers ? headers.authorization : "";
  return {
    method,
    path: url.pathname,
    query: Object.fromEntries(url.searchParams),
    authorization: typeof given === "string" ? given : undefined,
    body: typeof body === "string" ? parseJson(body) : undefined,
  };
}
