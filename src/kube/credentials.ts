import { access, readFile } from "node:fs/promises";
import { isIPv6 } from "node:net";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { type Clock, systemClock } from "../clock.ts";
import { createIdentitySource, type Identity, type TlsOptions } from "./identity.ts";
import { type ClusterAccess, readKubeconfig } from "./kubeconfig.ts";
import { proxyFor } from "./proxy.ts";

export type { Identity, TlsOptions };

/** How to reach one API server, and who we are to it. */
export type Credentials = {
  server: string;
  /** The context's namespace, or the pod's own; undefined when neither is set. */
  namespace: string | undefined;
  /** TLS settings as first read; `identity()` has those of the moment. */
  tls: TlsOptions;
  /** What proves who we are, asked for every request, so that rotated tokens are picked up. */
  headers(): Promise<Record<string, string>>;
  /** Headers and TLS settings of the moment; without it, `headers()` and `tls`. The same object until something changes. */
  identity?(): Promise<Identity>;
  /** Reads everything anew after the server refused `stale` (401); undefined when that brings nothing new. */
  renew?(stale: Identity): Promise<Identity | undefined>;
  /** Impersonate-* headers of the kubeconfig's user. */
  impersonation?: Record<string, string | string[]>;
  /** URL of the proxy to the server; undefined for a direct connection. May hold a password. */
  proxy?: string | undefined;
};

export type CredentialsOptions = {
  /** Path of a kubeconfig; default: KUBECONFIG, ~/.kube/config, the pod's service account, whichever is there first. */
  kubeconfig?: string | undefined;
  /** For KUBECONFIG, the proxy variables, the pod's address of the API server, and what exec plug-ins inherit. Default: empty. */
  env?: Readonly<Record<string, string | undefined>>;
  /** Told once for each failed look at a token, certificate or plug-in while what was read before is still used. */
  onProblem?: (message: string) => void;
  clock?: Pick<Clock, "now" | "monotonic">;
  /** Where a pod finds its service account. */
  serviceAccountFolder?: string;
};

const SERVICE_ACCOUNT_FOLDER = "/var/run/secrets/kubernetes.io/serviceaccount";

/**
 * Reads credentials as kubectl does. Files (tokens, certificates, keys) are looked at again every 10 s, exec plug-ins run
 * again when what they issued ends; the kubeconfig itself is read once, so that another current-context changes nothing.
 * Over plain http no secret is sent, as with kubectl.
 * @throws Error of one line when no cluster is configured, or when something of it is missing or wrong
 */
export async function loadCredentials(options: CredentialsOptions = {}): Promise<Credentials> {
  const env = options.env ?? {};
  const folder = options.serviceAccountFolder ?? SERVICE_ACCOUNT_FOLDER;
  const target = await findAccess(options.kubeconfig, env, folder);
  const source = createIdentitySource(target, {
    env,
    clock: options.clock ?? systemClock,
    onProblem: options.onProblem ?? (() => {}),
  });
  const { tls } = await source.identity();
  return {
    server: target.server.href.replace(/\/+$/, ""),
    namespace: target.namespace ?? (await podNamespace(folder)),
    tls,
    headers: async () => (await source.identity()).headers,
    identity: source.identity,
    renew: source.renew,
    impersonation: target.impersonation,
    proxy: proxyFor(target.server, env, target.proxyURL),
  };
}

async function findAccess(
  kubeconfig: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
  folder: string,
): Promise<ClusterAccess> {
  if (kubeconfig !== undefined) return readKubeconfig([kubeconfig], `kubeconfig ${kubeconfig}`);
  const files = (env["KUBECONFIG"] ?? "").split(delimiter).filter((file) => file !== "");
  if (files.length > 0) return readKubeconfig(files, `KUBECONFIG=${files.join(delimiter)}`);
  const home = join(env["HOME"] ?? homedir(), ".kube", "config");
  if (await exists(home)) return readKubeconfig([home], `kubeconfig ${home}`);
  const host = env["KUBERNETES_SERVICE_HOST"];
  if (host && (await exists(join(folder, "token")))) {
    return inCluster(host, env["KUBERNETES_SERVICE_PORT"] ?? "443", folder);
  }
  throw new Error(
    `no cluster is configured: KUBECONFIG is not set, ${home} does not exist, and this is no pod with a service account; set --kubeconfig or KUBECONFIG`,
  );
}

function inCluster(host: string, port: string, folder: string): ClusterAccess {
  return {
    origin: "service account of the pod",
    server: new URL(`https://${isIPv6(host) ? `[${host}]` : host}:${port}`),
    ca: { file: join(folder, "ca.crt") },
    token: { file: join(folder, "token") },
    insecure: false,
    serverName: undefined,
    proxyURL: undefined,
    namespace: undefined,
    cert: undefined,
    key: undefined,
    basic: undefined,
    exec: undefined,
    oidc: undefined,
    impersonation: {},
  };
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

async function podNamespace(folder: string): Promise<string | undefined> {
  try {
    return (await readFile(join(folder, "namespace"), "utf8")).trim() || undefined;
  } catch {
    return undefined; // not in a pod
  }
}
