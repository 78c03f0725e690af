import type { RequestOptions } from "node:https";
import { KubeConfig } from "@kubernetes/client-node/dist/config.js";
import type { Cluster, User } from "@kubernetes/client-node/dist/config_types.js";
import { type ExecCredential, runExecPlugin } from "./exec-plugin.ts";
import { type ClusterAccess, firstLineOf, type Identity, readCredentialFile } from "./identity.ts";
import type { KubeconfigContext, KubeconfigOptions } from "./kubeconfig-schema.ts";

/** Reads the current identity of a kubeconfig's user: files, credentials of an exec plug-in, OpenID Connect tokens. */
export function createReader(
  context: KubeconfigContext,
  { label, env, clock }: KubeconfigOptions,
): ClusterAccess["read"] {
  const { ownCluster, ownUser } = context;
  // Data wins over a path beside it, as with kubectl; client-node has it the other way round.
  const cluster = { ...context.cluster, caFile: context.cluster.caData ? "" : (context.cluster.caFile ?? "") };
  const { exec: _, certFile, keyFile, ...user } = context.user;
  if (user.authProvider?.config) makeRefreshable(user.authProvider.config);
  let issued: ExecCredential | undefined;

  return async (refused) => {
    if (refused) issued = undefined; // even if the credential has not expired
    if (ownUser.exec && (issued === undefined || clock.now() >= issued.expiresAt)) {
      const ca = cluster.caFile && (await readCredentialFile(label, "certificate-authority", cluster.caFile));
      issued = await runExecPlugin(ownUser.exec, env, { ...ownCluster, ca: base64(ca) || cluster.caData });
    }
    const { tokenFile } = ownUser;
    const fileToken = tokenFile && (await readCredentialFile(label, "token", tokenFile)).trim();
    const certData = base64(issued?.cert) ?? user.certData;
    const keyData = base64(issued?.key) ?? user.keyData;
    const token = issued?.token ?? fileToken ?? user.token;
    const identity = await identityOf(label, cluster, {
      ...user,
      password: user.password ?? "",
      ...(certData ? { certData } : { certFile: certFile ?? "" }),
      ...(keyData ? { keyData } : { keyFile: keyFile ?? "" }),
      ...(token ? { token } : {}),
    });
    return { ...identity, expiresAt: issued?.expiresAt ?? Number.POSITIVE_INFINITY };
  };
}

/**
 * client-node 2.0.1 fails to refresh OpenID Connect tokens: it gives the library that does so the issuer's URL as text,
 * and with a certificate authority a response of its own making; that library takes neither.
 */
function makeRefreshable(oidc: Record<string, unknown>): void {
  const issuer = String(oidc["idp-issuer-url"]);
  if (URL.canParse(issuer)) oidc["idp-issuer-url"] = new URL(issuer);
  oidc["idp-certificate-authority"] = undefined;
  oidc["idp-certificate-authority-data"] = undefined;
}

/** Headers and TLS options, made by client-node. */
async function identityOf(label: string, cluster: Cluster, user: User): Promise<Identity> {
  // A new one each time: 2.0.1 takes the seconds that a refreshed OpenID Connect token has left for the time of its end.
  const config = new KubeConfig();
  config.loadFromClusterAndUser(cluster, user);
  const made: RequestOptions = {};
  try {
    await config.applyToHTTPSOptions(made);
  } catch (error) {
    throw new Error(`${label}: ${firstLineOf(error)}`, { cause: error });
  }
  const header = Object.entries(made.headers ?? {}).find(([name]) => name === "Authorization")?.[1];
  if (user.authProvider && header === undefined) {
    throw new Error(`${label}: user "${user.name}": the id-token has expired, and nothing is there to refresh it with`);
  }
  const authorization = header ?? (made.auth && `Basic ${base64(made.auth)}`);
  const { ca, cert, key, servername, rejectUnauthorized } = made;
  return {
    headers: authorization ? { Authorization: `${authorization}` } : {},
    tls: {
      ...(ca && { ca: `${ca}` }),
      ...(cert && { cert: `${cert}` }),
      ...(key && { key: `${key}` }),
      ...(servername && { servername }),
      ...(rejectUnauthorized === false && { rejectUnauthorized }),
    },
  };
}

const base64 = (value: string | undefined) => value && Buffer.from(value).toString("base64");
