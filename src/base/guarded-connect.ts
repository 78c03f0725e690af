import { isIP, type LookupFunction } from "node:net";
import { buildConnector } from "undici";

export type ConnectOptions = {
  /** Resolves names and may refuse addresses; literal addresses are shown to it too. */
  lookup?: LookupFunction;
  /** PEM bundle of further certificate authorities. */
  ca?: string;
  /** Milliseconds, default 10000. */
  timeoutMs?: number;
};

/** How an undici pool or agent connects, HTTP/1.1 only. */
export function guardedConnector(options: ConnectOptions = {}): buildConnector.connector {
  const { lookup, ca, timeoutMs = 10_000 } = options;
  const connector = buildConnector({
    timeout: timeoutMs,
    allowH2: false,
    ...(lookup === undefined ? {} : { lookup }),
    ...(ca === undefined ? {} : { ca }),
  });
  if (lookup === undefined) return connector;
  return (target, callback) => {
    judgeLiteral(lookup, target.hostname, (error) =>
      error === null ? connector(target, callback) : callback(error, null),
    );
  };
}

/** Shows a literal address to `lookup`: Node calls `lookup` for names only. */
export function judgeLiteral(lookup: LookupFunction, hostname: string, then: (error: Error | null) => void): void {
  const address = hostname.replace(/^\[|\]$/g, "");
  if (isIP(address) === 0) then(null);
  else lookup(address, { all: true }, then);
}
