import type { LookupFunction } from "node:net";
import { isIP } from "node:net";
import { buildConnector, Pool } from "undici";

export type ConnectionOptions = {
  connect?: {
    /** Resolves names and may refuse addresses; literal addresses are shown to it too. */
    lookup?: LookupFunction;
    /** PEM bundle of further certificate authorities. */
    ca?: string;
    /** Milliseconds, default 10000. */
    timeoutMs?: number;
  };
  /** Connections per pool, default 64. */
  connections?: number;
};

/** Connections to one origin: HTTP/1.1, one request at a time on each, no timers of undici's own. */
export function createPool(origin: string, options: ConnectionOptions): Pool {
  const { lookup, ca, timeoutMs = 10_000 } = options.connect ?? {};
  const connector = buildConnector({
    timeout: timeoutMs,
    allowH2: false,
    ...(lookup === undefined ? {} : { lookup }),
    ...(ca === undefined ? {} : { ca }),
  });
  return new Pool(origin, {
    connections: options.connections ?? 64,
    pipelining: 1,
    allowH2: false,
    // The guard's timer rules; undici's own would cut long answers and quiet streams.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: (target, callback) => {
      const address = target.hostname.replace(/^\[|\]$/g, "");
      // Node does not look literal addresses up, so the guard would never see them.
      if (lookup === undefined || isIP(address) === 0) return connector(target, callback);
      lookup(address, { all: true }, (error) => (error === null ? connector(target, callback) : callback(error, null)));
    },
  });
}

/** The origin and the path prefix, or what is wrong with the base URL. */
export function parseBase(baseURL: string): { origin: string; prefix: string } | string {
  if (!URL.canParse(baseURL)) return `baseURL "${baseURL}" is not a URL`;
  const url = new URL(baseURL);
  if (url.protocol !== "http:" && url.protocol !== "https:")
    return `baseURL must be http or https, not ${url.protocol}`;
  if (url.username !== "" || url.password !== "") return "baseURL must not carry credentials";
  if (url.search !== "" || url.hash !== "") return "baseURL must have no query and no fragment";
  return { origin: url.origin, prefix: url.pathname.replace(/\/+$/, "") };
}
