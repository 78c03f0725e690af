import { type Dispatcher, Pool } from "undici";
import { type ConnectOptions, guardedConnector } from "../../base/guarded-connect.ts";
import { serviceAddress } from "../../base/service-address.ts";

export type ConnectionOptions = {
  connect?: ConnectOptions;
  /** Connections per pool, default `CONNECTIONS`. */
  connections?: number;
  /** Opens the connections to an origin. Default: a pool of sockets. */
  open?: OpenDispatcher | undefined;
};

export type OpenDispatcher = (origin: string) => Dispatcher;

/** Connections of an account for paid calls, and as many for others. */
export const CONNECTIONS = 64;

/** Connections to one origin: HTTP/1.1, one request at a time on each, no timers of undici's own. */
export function createPool(origin: string, options: ConnectionOptions): Dispatcher {
  if (options.open !== undefined) return options.open(origin);
  return new Pool(origin, {
    connections: options.connections ?? CONNECTIONS,
    pipelining: 1,
    allowH2: false,
    // Only the guard has a timer; undici's own would cut long responses and quiet streams.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: guardedConnector(options.connect),
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
  return { origin: url.origin, prefix: serviceAddress(baseURL).slice(url.origin.length) };
}
