import { readFile } from "node:fs/promises";
import { createSecureContext } from "node:tls";
import type { Clock } from "../base/clock.ts";

export type TlsOptions = {
  /** PEM, as `cert` and `key`. */
  ca?: string;
  cert?: string;
  key?: string;
  servername?: string;
  rejectUnauthorized?: boolean;
};

/** The current identity. `tls` is the same object as long as its content is the same. */
export type Identity = { readonly headers: Record<string, string>; readonly tls: TlsOptions };

/** One API server with the identity for it: the service account of a pod, or the context of a kubeconfig. */
export type ClusterAccess = {
  /** For messages: which file, or which pod. */
  origin: string;
  server: URL;
  namespace: string | undefined;
  /** The kubeconfig's `proxy-url`. */
  proxyURL: string | undefined;
  /** Impersonate-* headers. */
  impersonation: Record<string, string | string[]>;
  /**
   * Reads tokens and certificates from their files or plug-in.
   * @param refused the server refused (401) the previous identity: a plug-in issues another credential
   * @returns `expiresAt` in ms since the epoch; Infinity when no end is known
   */
  read(refused: boolean): Promise<Identity & { expiresAt: number }>;
};

export type IdentitySource = {
  identity(): Promise<Identity>;
  /** Reads everything again after a 401; undefined when the result equals `stale`. Concurrent calls share one read. */
  renew(stale: Identity): Promise<Identity | undefined>;
};

/** Files are read again this often: a rotated token or certificate is used within it. */
const REREAD_MS = 10_000;
/** Shortest time between two failed reads, and between reads after refusals: a plug-in may be slow or paid. */
const PAUSE_MS = 1_000;

/**
 * Keeps the identity up to date. A reading that fails (a file half-way through its rotation) leaves the previous identity
 * in use and is reported as a problem, unless that identity has expired.
 */
export function createIdentitySource(
  access: ClusterAccess,
  options: { clock: Pick<Clock, "now" | "monotonic">; onProblem: (message: string) => void },
): IdentitySource {
  const { clock } = options;
  let current: Identity | undefined;
  let expiresAt = Number.POSITIVE_INFINITY;
  let readAt = Number.NEGATIVE_INFINITY;
  let renewedAt = Number.NEGATIVE_INFINITY;
  let failure: { error: unknown; at: number } | undefined;
  let reading: Promise<Identity> | undefined;

  const valid = () => clock.now() < expiresAt;

  async function read(refused: boolean): Promise<Identity> {
    try {
      const next = await access.read(refused);
      const tls = current !== undefined && equal(current.tls, next.tls) ? current.tls : checkedTls(access, next.tls);
      if (current === undefined || tls !== current.tls || !equal(current.headers, next.headers)) {
        current = { headers: next.headers, tls };
      }
      expiresAt = next.expiresAt;
      failure = undefined;
    } catch (error) {
      if (current === undefined || !valid()) {
        failure = { error, at: clock.monotonic() };
        throw error;
      }
      options.onProblem(`${firstLineOf(error)}; what was read before is still used`);
    } finally {
      readAt = clock.monotonic();
    }
    return current;
  }

  /** One reading at a time: every caller meanwhile gets its outcome. */
  function readOnce(refused: boolean): Promise<Identity> {
    reading ??= read(refused).finally(() => {
      reading = undefined;
    });
    return reading;
  }

  return {
    async identity() {
      if (failure !== undefined && clock.monotonic() < failure.at + PAUSE_MS) throw failure.error;
      const life = valid() ? REREAD_MS : PAUSE_MS;
      return current !== undefined && clock.monotonic() < readAt + life ? current : readOnce(false);
    },
    async renew(stale) {
      try {
        await reading;
        if (current === stale) {
          if (clock.monotonic() < renewedAt + PAUSE_MS) return undefined;
          renewedAt = clock.monotonic();
          await readOnce(true);
        }
      } catch {
        return undefined; // the next request reads again, and fails with the cause
      }
      return current === stale ? undefined : current;
    },
  };
}

/** @throws Error of one line when the file cannot be read or is empty, as in the middle of a rotation */
export async function readCredentialFile(origin: string, what: string, file: string): Promise<string> {
  try {
    const content = await readFile(file, "utf8");
    if (content.trim() !== "") return content;
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : String(error);
    throw new Error(`${origin}: ${what} ${file} cannot be read: ${code}`);
  }
  throw new Error(`${origin}: ${what} ${file} is empty`);
}

/** Checks the certificates before each connection would fail on them. Node ignores an empty certificate. */
function checkedTls(access: ClusterAccess, tls: TlsOptions): TlsOptions {
  try {
    if ([tls.ca, tls.cert, tls.key].some((pem) => pem?.trim() === "")) throw new Error("one of them is empty");
    createSecureContext(tls);
    return tls;
  } catch (error) {
    throw new Error(
      `${access.origin}: certificate, key and certificate authority do not go together: ${firstLineOf(error)}`,
    );
  }
}

/** Errors of libraries quote what they read on the lines after the first. */
export function firstLineOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split("\n", 1)[0] ?? "";
}

const equal = (a: object, b: object): boolean => JSON.stringify(a) === JSON.stringify(b);
