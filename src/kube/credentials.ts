import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { type Clock, systemClock } from "../base/clock.ts";
import { type ClusterAccess, createIdentitySource, type Identity } from "./identity.ts";
import { inCluster, podNamespace, SERVICE_ACCOUNT_FOLDER } from "./in-cluster.ts";
import { type Environment, proxyFor } from "./proxy.ts";

/** How to reach one API server, and who we are to it. */
export type Credentials = {
  server: string;
  /** The context's namespace, or the pod's own; undefined when neither is set. */
  namespace: string | undefined;
  /** Headers and TLS settings of the moment, asked for every request. `tls` is the same object until it changes. */
  identity(): Promise<Identity>;
  /** Reads everything again after the server refused `stale` (401); undefined when nothing changed. */
  renew?(stale: Identity): Promise<Identity | undefined>;
  /** Impersonate-* headers of the kubeconfig's user. */
  impersonation?: Record<string, string | string[]>;
  /** URL of the proxy to the server; undefined for a direct connection. May hold a password. */
  proxy?: string | undefined;
};

export type CredentialsOptions = {
  /** Path of a kubeconfig; default: KUBECONFIG, ~/.kube/config, the pod's service account, whichever exists first. */
  kubeconfig?: string | undefined;
  /** For KUBECONFIG, the proxy variables, the pod's address of the API server, and what exec plug-ins inherit. Default: empty. */
  env?: Environment;
  /** Called once for each failed read of a token, certificate or plug-in while the previous one is still used. */
  onProblem?: (message: string) => void;
  clock?: Pick<Clock, "now" | "monotonic">;
  /** Where a pod finds its service account. */
  serviceAccountFolder?: string;
};

/**
 * Reads credentials as kubectl does. Files (tokens, certificates, keys) are read again every 10 s, exec plug-ins run
 * again when their credential expires; the kubeconfig itself is read once, so that another current-context changes nothing.
 * Over plain http no secret is sent, as with kubectl.
 * @throws Error of one line when no cluster is configured, or when a part of its configuration is missing or wrong
 */
export async function loadCredentials(options: CredentialsOptions = {}): Promise<Credentials> {
  const { env = {}, clock = systemClock, onProblem = () => {} } = options;
  const folder = options.serviceAccountFolder ?? SERVICE_ACCOUNT_FOLDER;
  const target = await findAccess(options.kubeconfig, { env, clock, folder });
  const source = createIdentitySource(target, { clock, onProblem });
  await source.identity(); // reports a wrong configuration now, not with the first request
  return {
    server: target.server.href.replace(/\/+$/, ""),
    namespace: target.namespace ?? (await podNamespace(folder)),
    identity: source.identity,
    renew: source.renew,
    impersonation: target.impersonation,
    proxy: proxyFor(target.server, env, target.proxyURL),
  };
}

async function findAccess(
  kubeconfig: string | undefined,
  { env, clock, folder }: { env: Environment; clock: Pick<Clock, "now">; folder: string },
): Promise<ClusterAccess> {
  const home = join(env["HOME"] ?? homedir(), ".kube", "config");
  const named = (env["KUBECONFIG"] ?? "").split(delimiter).filter((file) => file !== "");
  // Loaded only here: a pod does not need the library that reads kubeconfigs.
  const open = async (paths: readonly string[], label: string) =>
    (await import("./kubeconfig.ts")).openKubeconfig(paths, { label, env, clock });

  if (kubeconfig !== undefined) return open([kubeconfig], `kubeconfig ${kubeconfig}`);
  if (named.length > 0) return open(named, `KUBECONFIG=${named.join(delimiter)}`);
  if (existsSync(home)) return open([home], `kubeconfig ${home}`);
  const pod = await inCluster(env, folder);
  if (pod !== undefined) return pod;
  throw new Error(
    `no cluster is configured: KUBECONFIG is not set, ${home} does not exist, and this is no pod with a service account; set --kubeconfig or KUBECONFIG`,
  );
}
