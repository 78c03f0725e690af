import { readFile } from "node:fs/promises";
import { createSecureContext } from "node:tls";
import type { Clock } from "../clock.ts";
import { type ExecCredential, runExecPlugin } from "./exec-plugin.ts";
import type { ClusterAccess, Source } from "./kubeconfig.ts";
import { createOidcToken } from "./oidc.ts";

export type TlsOptions = {
  ca?: string | Buffer;
  cert?: string | Buffer;
  key?: string | Buffer;
  servername?: string;
  rejectUnauthorized?: boolean;
};

/** Who we are at one moment. `tls` is the same object as long as its content is the same. */
export type Identity = { readonly headers: Record<string, string>; readonly tls: TlsOptions };

export type IdentitySource = {
  identity(): Promise<Identity>;
  /** Everything anew after a 401; undefined when it comes out as `stale` was. Many callers at once cause one reading. */
  renew(stale: Identity): Promise<Identity | undefined>;
};

/** Files are looked at this often: a rotated token or certificate is used within it. */
const LOOK_MS = 10_000;
/** A failure is not tried again for so long, and two refusals within it cause one reading: a plug-in may be slow or paid. */
const PAUSE_MS = 1_000;

/**
 * Keeps headers and TLS settings as files and plug-ins say. A look that fails (a file half-way through its rotation)
 * leaves what was read before in use and is told as a problem, unless that has run out.
 */
export function createIdentitySource(
  access: ClusterAccess,
  options: {
    env: Readonly<Record<string, string | undefined>>;
    clock: Pick<Clock, "now" | "monotonic">;
    onProblem: (message: string) => void;
  },
): IdentitySource {
  const { clock } = options;
  const oidcToken = access.oidc === undefined ? undefined : createOidcToken(access.oidc);
  let issued: ExecCredential | undefined;
  let current: Identity | undefined;
  let lookedAt = Number.NEGATIVE_INFINITY;
  let renewedAt = Number.NEGATIVE_INFINITY;
  let failure: { error: unknown; at: number } | undefined;
  let looking: Promise<Identity> | undefined;

  const valid = () => issued === undefined || clock.now() < issued.expiresAt;

  async function read(): Promise<Identity> {
    // Nothing of ours goes over plain http, as in client-go's clientcmd.
    if (access.server.protocol !== "https:") return { headers: {}, tls: {} };
    const ca = await load(access, "certificate-authority", access.ca);
    if (access.exec !== undefined && (issued === undefined || !valid())) {
      issued = await runExecPlugin(access.exec, options.env, ca);
    }
    const cert = issued?.cert ?? (await load(access, "client-certificate", access.cert));
    const key = issued?.key ?? (await load(access, "client-key", access.key));
    const tls: TlsOptions = {
      ...(ca === undefined ? {} : { ca }),
      ...(cert === undefined ? {} : { cert }),
      ...(key === undefined ? {} : { key }),
      ...(access.serverName === undefined ? {} : { servername: access.serverName }),
      ...(access.insecure ? { rejectUnauthorized: false } : {}),
    };
    return { headers: await authorization(), tls };
  }

  async function authorization(): Promise<Record<string, string>> {
    const token =
      issued?.token ?? (await load(access, "token", access.token))?.trim() ?? (await oidcToken?.()) ?? undefined;
    if (token !== undefined) return { Authorization: `Bearer ${token}` };
    if (access.basic === undefined) return {};
    const { username, password } = access.basic;
    return { Authorization: `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}` };
  }

  async function look(): Promise<Identity> {
    try {
      const next = await read();
      const tls = current !== undefined && equal(current.tls, next.tls) ? current.tls : checkedTls(access, next.tls);
      if (current === undefined || tls !== current.tls || !equal(current.headers, next.headers)) {
        current = { headers: next.headers, tls };
      }
      failure = undefined;
    } catch (error) {
      if (current === undefined || !valid()) {
        failure = { error, at: clock.monotonic() };
        throw error;
      }
      options.onProblem(
        `${error instanceof Error ? error.message : String(error)}; what was read before is still used`,
      );
    } finally {
      lookedAt = clock.monotonic();
    }
    return current;
  }

  /** One look at a time: everybody who asks meanwhile gets its outcome. */
  function lookOnce(): Promise<Identity> {
    looking ??= look().finally(() => {
      looking = undefined;
    });
    return looking;
  }

  return {
    async identity() {
      if (failure !== undefined && clock.monotonic() < failure.at + PAUSE_MS) throw failure.error;
      const life = valid() ? LOOK_MS : PAUSE_MS;
      return current !== undefined && clock.monotonic() < lookedAt + life ? current : lookOnce();
    },
    async renew(stale) {
      try {
        await looking;
        if (current === stale) {
          if (clock.monotonic() < renewedAt + PAUSE_MS) return undefined;
          renewedAt = clock.monotonic();
          issued = undefined; // refused is over, whatever end the plug-in named
          await lookOnce();
        }
      } catch {
        return undefined; // the next request that asks who we are is told why
      }
      return current === stale ? undefined : current;
    },
  };
}

async function load(access: ClusterAccess, what: string, source: Source | undefined): Promise<string | undefined> {
  if (source === undefined) return undefined;
  if ("text" in source) return source.text;
  try {
    const content = await readFile(source.file, "utf8");
    if (content.trim() !== "") return content;
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : String(error);
    throw new Error(`${access.origin}: ${what} ${source.file} cannot be read: ${code}`);
  }
  throw new Error(`${access.origin}: ${what} ${source.file} is empty`);
}

/** Says now what each connection would say otherwise. */
function checkedTls(access: ClusterAccess, tls: TlsOptions): TlsOptions {
  try {
    createSecureContext(tls);
    return tls;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`${access.origin}: certificate, key and certificate authority do not go together: ${reason}`);
  }
}

const equal = (a: object, b: object): boolean => JSON.stringify(a) === JSON.stringify(b);
