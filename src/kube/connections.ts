import { createSecureContext, type SecureContext } from "node:tls";
import { type Dispatcher, Pool, ProxyAgent } from "undici";
import { bytesOf, exchange, type HttpAnswer } from "../base/exchange.ts";
import type { Credentials } from "./credentials.ts";
import type { Identity, TlsOptions } from "./identity.ts";

export type KubeConnectionOptions = {
  /** Connections for requests, default 64. Watches have their own, one each. */
  connections?: number | undefined;
  /** Longest wait for the headers of a response, and for each pause in its body; ms. */
  requestTimeoutMs: number;
};

export type ApiRequest = Pick<Dispatcher.DispatchOptions, "method" | "path" | "body"> & {
  headers: Record<string, string>;
  signal?: AbortSignal | undefined;
  /** Overrides the pause that is allowed in the body, ms. */
  bodyTimeout?: number;
  /** Uses the connections for watches, so that long watches never delay a write. */
  watch?: boolean;
};

export type Connections = {
  /**
   * Sends with the current credentials. A 401 means that the request had no effect, so it is repeated once when
   * a new read brings other credentials.
   */
  send(request: ApiRequest): Promise<HttpAnswer>;
  /** Waits for requests, and ends watches. */
  close(): Promise<void>;
};

type Pools = { tls: TlsOptions; requests: Dispatcher; watches: Dispatcher };

const CONNECT_TIMEOUT_MS = 10_000;

/**
 * Connections to one API server, direct or through a proxy. When the client certificate or the certificate authority
 * changes, new requests go over new connections; the old ones end with their last request or watch.
 */
export function createConnections(credentials: Credentials, options: KubeConnectionOptions): Connections {
  const origin = new URL(credentials.server).origin;
  let pools: Pools | undefined;
  /** Pools without new requests, each until its requests and watches have ended. */
  const draining = new Map<Pools, Promise<void>>();
  let closed: Promise<unknown> | undefined;

  function open(tls: TlsOptions): Pools {
    // Shared by all connections: otherwise each parses the same certificates.
    const secureContext = createSecureContext(tls);
    const common = { headersTimeout: options.requestTimeoutMs };
    return {
      tls,
      requests: dispatcher(tls, secureContext, {
        ...common,
        connections: options.connections ?? 64,
        bodyTimeout: options.requestTimeoutMs,
        keepAliveTimeout: 30_000,
      }),
      watches: dispatcher(tls, secureContext, common),
    };
  }

  function dispatcher(tls: TlsOptions, secureContext: SecureContext, pool: Pool.Options): Dispatcher {
    // One request at a time on a connection: over HTTP/2 a watch would share one with all others, and break with it.
    const connect = { ...tls, secureContext, timeout: CONNECT_TIMEOUT_MS, allowH2: false };
    if (credentials.proxy === undefined) return new Pool(origin, { ...pool, allowH2: false, connect });
    return new ProxyAgent({
      ...pool,
      allowH2: false,
      uri: credentials.proxy,
      requestTls: connect,
      connectTimeout: CONNECT_TIMEOUT_MS,
    });
  }

  function poolsFor(tls: TlsOptions): Pools {
    if (pools?.tls === tls) return pools;
    const old = pools;
    pools = open(tls);
    if (old !== undefined) {
      const requestsEnded = old.requests.close();
      draining.set(old, requestsEnded);
      void Promise.all([requestsEnded, old.watches.close()]).finally(() => draining.delete(old));
    }
    return pools;
  }

  function sendAs({ headers, tls }: Identity, { watch, signal, ...request }: ApiRequest): Promise<HttpAnswer> {
    const { watches, requests } = poolsFor(tls);
    const all = { ...request.headers, ...credentials.impersonation, ...headers };
    return exchange(watch ? watches : requests, { ...request, origin, headers: all }, { signal });
  }

  return {
    async send(request) {
      const identity = await credentials.identity();
      const answer = await sendAs(identity, request);
      if (answer.statusCode !== 401) return answer;
      const renewed = await credentials.renew?.(identity);
      if (renewed === undefined) return answer;
      await bytesOf(answer.body);
      return sendAs(renewed, request);
    },
    close() {
      const old = [...draining].flatMap(([{ watches }, requestsEnded]) => [requestsEnded, watches.destroy()]);
      closed ??= Promise.all([pools?.requests.close(), pools?.watches.destroy(), ...old]);
      return closed.then(() => undefined);
    },
  };
}
