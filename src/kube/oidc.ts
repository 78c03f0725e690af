import type { RequestOptions } from "node:https";

/**
 * The token of a kubeconfig's `auth-provider: oidc`, refreshed when it ends. client-node's, and loaded only when used: it
 * brings an OpenID Connect library with it.
 */
export function createOidcToken(config: Record<string, string>): () => Promise<string | undefined> {
  let ready: Promise<(options: RequestOptions) => Promise<void>> | undefined;
  async function prepare() {
    const { OpenIDConnectAuth } = await import("@kubernetes/client-node/dist/oidc_auth.js");
    const provider = new OpenIDConnectAuth();
    const user = { name: "oidc", authProvider: { name: "oidc", config } };
    return (options: RequestOptions) => provider.applyAuthentication(user, options);
  }
  return async () => {
    ready ??= prepare();
    const applied: RequestOptions = { headers: {} };
    await (await ready)(applied);
    const value: unknown = Object.entries(applied.headers ?? {}).find(([name]) => name === "Authorization")?.[1];
    return typeof value === "string" ? value.replace(/^Bearer /, "") : undefined;
  };
}
