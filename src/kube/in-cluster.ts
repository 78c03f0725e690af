import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { isIPv6 } from "node:net";
import { join } from "node:path";
import { type ClusterAccess, readCredentialFile } from "./identity.ts";

/** Where a pod finds its service account. */
export const SERVICE_ACCOUNT_FOLDER = "/var/run/secrets/kubernetes.io/serviceaccount";

const ORIGIN = "service account of the pod";

/**
 * The API server of the pod that this process runs in. The kubelet rotates the token, so each reading reads the files.
 * @returns undefined outside a pod, and in a pod without a service account
 */
export async function inCluster(
  env: Readonly<Record<string, string | undefined>>,
  folder: string,
): Promise<ClusterAccess | undefined> {
  const host = env["KUBERNETES_SERVICE_HOST"];
  const token = join(folder, "token");
  if (!host || !existsSync(token)) return undefined;
  return {
    origin: ORIGIN,
    server: new URL(`https://${isIPv6(host) ? `[${host}]` : host}:${env["KUBERNETES_SERVICE_PORT"] ?? "443"}`),
    namespace: await podNamespace(folder),
    proxyURL: undefined,
    impersonation: {},
    async read() {
      const ca = await readCredentialFile(ORIGIN, "certificate-authority", join(folder, "ca.crt"));
      const bearer = (await readCredentialFile(ORIGIN, "token", token)).trim();
      return { headers: { Authorization: `Bearer ${bearer}` }, tls: { ca }, expiresAt: Number.POSITIVE_INFINITY };
    },
  };
}

/** The pod's own namespace; undefined outside a pod. */
export async function podNamespace(folder: string): Promise<string | undefined> {
  try {
    return (await readFile(join(folder, "namespace"), "utf8")).trim() || undefined;
  } catch {
    return undefined; // not in a pod
  }
}
