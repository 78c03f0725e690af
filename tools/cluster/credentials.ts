import { type Credentials, loadCredentials } from "../../src/kube/credentials.ts";

/** Credentials for a server that asks for none. */
export function anonymous(server: string): Credentials {
  const identity = { headers: {}, tls: {} };
  return { server, namespace: undefined, identity: async () => identity };
}

/** What a proxy needs to reach the API server of a kubeconfig as its user. */
export async function targetOf(kubeconfig: string) {
  const credentials = await loadCredentials({ kubeconfig });
  const { tls } = await credentials.identity();
  return { url: credentials.server, ca: tls.ca, headers: async () => (await credentials.identity()).headers };
}
