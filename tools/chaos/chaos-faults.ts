import type { Random } from "../../src/simulator/random.ts";

/** What may become of a request. */
export type RequestFault =
  /** HTTP 500; never forwarded. */
  | "error500"
  /** HTTP 429 with `Retry-After: 1`; never forwarded. */
  | "throttled429"
  /** The answer is held back for `silenceMs`. */
  | "silence"
  /** The answer comes in small pieces. */
  | "slowBytes"
  /** Forwarded, and the connection breaks instead of an answer. */
  | "lostAnswer"
  /** HTTP 410 to a list with a continue token. */
  | "expiredContinue"
  /** HTTP 410 to a watch that resumes. */
  | "expiredVersion";

/** What may become of a watch while it is open. */
export type StreamFault =
  /** The connection breaks in the middle of a line. */
  | "cutMidLine"
  /** The answer ends properly, in the middle of a line. */
  | "endMidLine"
  /** The answer ends between two lines. */
  | "close"
  /** ERROR event 410, and the end. */
  | "goneEvent"
  /** ERROR event 500, and the end. */
  | "errorEvent"
  /** Nothing arrives for `silenceMs`; then all that was held back. */
  | "silence"
  /** Every line comes in small pieces for a while. */
  | "slowBytes"
  /** The bookmark of what has been sent, twice. */
  | "duplicateBookmark"
  /** A bookmark that others have overtaken. */
  | "lateBookmark";

export type ChaosSettings = {
  /** Share of requests that a fault hits, 0-1; each is drawn only where it can happen. */
  requests: Record<RequestFault, number>;
  /** Mean time between two faults of one watch, ms. */
  streamFaultEveryMs: number;
  /** How often each fault of a watch comes in one round of them all. */
  streams: Record<StreamFault, number>;
  silenceMs: number;
  /** How long an answer or a phase of slow bytes is drawn out, ms. */
  slowMs: number;
  /** Objects a page of a list has at most, so that small collections have continue tokens too. */
  pageSize: number;
  /** False: watches with sendInitialEvents are refused, as by a server without streaming lists. */
  streamingLists: boolean;
};

export const defaultChaos: ChaosSettings = {
  requests: {
    error500: 0.05,
    throttled429: 0.05,
    silence: 0.01,
    slowBytes: 0.05,
    lostAnswer: 0.03,
    expiredContinue: 0.1,
    expiredVersion: 0.1,
  },
  streamFaultEveryMs: 5_000,
  streams: {
    cutMidLine: 3,
    endMidLine: 2,
    close: 1,
    goneEvent: 2,
    errorEvent: 1,
    silence: 1,
    slowBytes: 2,
    duplicateBookmark: 3,
    lateBookmark: 3,
  },
  silenceMs: 30_000,
  slowMs: 3_000,
  pageSize: 50,
  streamingLists: true,
};

/** What a request is, as far as its faults depend on it. */
export type RequestShape = {
  method: string;
  watch: boolean;
  /** A list or a page of one. */
  list: boolean;
  continues: boolean;
  /** A watch from a version on. */
  resumes: boolean;
  /** A watch that begins with a list. */
  initialEvents: boolean;
};

const COLLECTION = /^\/(?:api\/v1|apis\/[^/]+\/[^/]+)(?:\/namespaces\/[^/]+)?\/[a-z]+$/;

export function shapeOf(method: string, url: URL): RequestShape {
  const query = url.searchParams;
  const watch = query.get("watch") === "true";
  const initialEvents = watch && query.get("sendInitialEvents") === "true";
  const version = query.get("resourceVersion") ?? "";
  return {
    method,
    watch,
    list: method === "GET" && !watch && COLLECTION.test(url.pathname),
    continues: query.has("continue"),
    resumes: watch && !initialEvents && version !== "" && version !== "0",
    initialEvents,
  };
}

export function drawRequestFault(
  { requests }: ChaosSettings,
  shape: RequestShape,
  random: Random,
): RequestFault | undefined {
  const possible = (Object.entries(requests) as [RequestFault, number][]).filter(([fault]) => {
    if (fault === "expiredContinue") return shape.continues;
    if (fault === "expiredVersion") return shape.resumes;
    return !(shape.watch && (fault === "lostAnswer" || fault === "slowBytes"));
  });
  let left = random.next();
  for (const [fault, share] of possible) {
    left -= share;
    if (left < 0) return fault;
  }
  return undefined;
}

/**
 * Faults of watches as from a shuffled pack of cards: in random order, and none is left out for long.
 * `bookmarks`: whether the watch can have any; it passes over those that it cannot.
 */
export function createStreamFaults({ streams }: ChaosSettings, random: Random): (bookmarks: boolean) => StreamFault {
  const all = (Object.entries(streams) as [StreamFault, number][]).flatMap(([fault, count]) =>
    Array.from({ length: count }, () => fault),
  );
  let pack: StreamFault[] = [];
  return (bookmarks) => {
    for (;;) {
      if (pack.length === 0) pack = [...all];
      const [fault] = pack.splice(Math.floor(random.next() * pack.length), 1);
      if (fault !== undefined && (bookmarks || !fault.endsWith("Bookmark"))) return fault;
    }
  };
}

/** Time to the next fault of a watch: exponentially distributed. */
export function drawPause({ streamFaultEveryMs }: ChaosSettings, random: Random): number {
  return -Math.log(1 - random.next()) * streamFaultEveryMs;
}
