import { readFile } from "node:fs/promises";
import type { RequestOptions } from "node:https";
import { KubeConfig } from "@kubernetes/client-node/dist/config.js";

export type TlsOptions = {
  ca?: string | Buffer;
  cert?: string | Buffer;
  key?: string | Buffer;
  servername?: string;
  rejectUnauthorized?: boolean;
};

/** How to reach one API server. `headers()` is asked for every request, so that rotated tokens are picked up. */
export type Credentials = {
  server: string;
  /** The context's namespace, or the pod's own; undefined when neither is set. */
  namespace: string | undefined;
  tls: TlsOptions;
  headers(): Promise<Record<string, string>>;
};

/** Tokens in files and from exec plug-ins are looked at this often; kubelet renews them many minutes ahead. */
const HEADERS_LIFE_MS = 30_000;
const POD_NAMESPACE_FILE = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";

/**
 * Reads credentials as kubectl does: `kubeconfig` (a path), else $KUBECONFIG, else ~/.kube/config, else the pod's
 * service account. Exec plug-ins, OIDC and token files are client-node's.
 * @throws Error when no cluster is configured.
 */
export async function loadCredentials(options: { kubeconfig?: string | undefined } = {}): Promise<Credentials> {
  const config = new KubeConfig();
  if (options.kubeconfig === undefined) config.loadFromDefault();
  else config.loadFromFile(options.kubeconfig);
  const cluster = config.getCurrentCluster();
  if (cluster === null) {
    throw new Error(
      `kubeconfig ${options.kubeconfig ?? "(default)"}: context "${config.getCurrentContext()}" names no cluster; set --kubeconfig or KUBECONFIG`,
    );
  }
  const context = config.getContextObject(config.getCurrentContext());
  const user = config.getCurrentUser();
  if (cluster.server.startsWith("http:") && user !== null) {
    // `kubectl proxy` and the like: there is no TLS to verify, which client-node wants to be told.
    config.loadFromClusterAndUser({ ...cluster, skipTLSVerify: true }, user);
  }
  const first: RequestOptions = {};
  await config.applyToHTTPSOptions(first);
  return {
    server: cluster.server.replace(/\/+$/, ""),
    namespace: context?.namespace ?? (await podNamespace()),
    tls: tlsOf(first, cluster.skipTLSVerify, cluster.tlsServerName),
    headers: cachedFor(HEADERS_LIFE_MS, async () => {
      const applied: RequestOptions = {};
      await config.applyToHTTPSOptions(applied);
      return headersOf(applied);
    }),
  };
}

async function podNamespace(): Promise<string | undefined> {
  try {
    return (await readFile(POD_NAMESPACE_FILE, "utf8")).trim() || undefined;
  } catch {
    return undefined; // not in a pod
  }
}

function tlsOf(options: RequestOptions, insecure: boolean | undefined, servername: string | undefined): TlsOptions {
  const tls: TlsOptions = {};
  if (options.ca) tls.ca = options.ca as string | Buffer;
  if (options.cert) tls.cert = options.cert as string | Buffer;
  if (options.key) tls.key = options.key as string | Buffer;
  if (servername) tls.servername = servername;
  if (insecure) tls.rejectUnauthorized = false;
  return tls;
}

function headersOf(options: RequestOptions): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(options.headers ?? {})) {
    if (typeof value === "string") headers[name] = value;
  }
  if (options.auth) headers.Authorization = `Basic ${Buffer.from(options.auth).toString("base64")}`;
  return headers;
}

function cachedFor<T>(lifeMs: number, read: () => Promise<T>): () => Promise<T> {
  let value: Promise<T> | undefined;
  let readAt = 0;
  return () => {
    if (value === undefined || performance.now() - readAt > lifeMs) {
      readAt = performance.now();
      value = read();
      value.catch(() => {
        value = undefined; // the next request asks again
      });
    }
    return value;
  };
}
