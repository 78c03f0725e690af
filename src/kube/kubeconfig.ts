import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { KubeConfig } from "@kubernetes/client-node/dist/config.js";
import type { Cluster, User } from "@kubernetes/client-node/dist/config_types.js";
import { parseDocument } from "yaml";
import type * as z from "zod";
import { type ClusterAccess, firstLineOf } from "./identity.ts";
import { createReader } from "./kubeconfig-identity.ts";
import { fileSchema, type KubeconfigContext, type KubeconfigOptions, userSchema } from "./kubeconfig-schema.ts";

type File = z.output<typeof fileSchema> & { config: KubeConfig };
/**
 * The API server of the current context of one file or several, merged as kubectl does: the first file that names
 * something wins. client-node reads certificates, makes TLS options and headers, and refreshes OpenID Connect tokens; it
 * is loaded with this module only (5 MiB resident, 50 ms). Where version 2.0.1 differs from kubectl, this module decides: the shape
 * of a file, files that name the same entry, data before paths, `tokenFile`, groups to impersonate, and exec plug-ins.
 * @param paths files that do not exist are skipped when there are several, but one must exist
 * @throws Error of one line: what is missing or wrong, and where
 */
export async function openKubeconfig(paths: readonly string[], options: KubeconfigOptions): Promise<ClusterAccess> {
  const context = await currentContext(paths, options.label);
  const server = new URL(context.cluster.server);
  // No credential is sent over plain http, as in client-go's clientcmd.
  const nothing = async () => ({ headers: {}, tls: {}, expiresAt: Number.POSITIVE_INFINITY });
  return {
    origin: options.label,
    server,
    namespace: context.namespace,
    proxyURL: context.cluster.proxyUrl || undefined,
    impersonation: impersonationOf(context.ownUser),
    read: server.protocol === "https:" ? createReader(context, options) : nothing,
  };
}

async function currentContext(paths: readonly string[], label: string): Promise<KubeconfigContext> {
  const read = await Promise.all(paths.map((path) => readOne(path, paths.length > 1)));
  const files = read.filter((file) => file !== undefined);
  if (files.length === 0) throw new Error(`${label}: none of these files exists`);
  const current = files.find((file) => file["current-context"] !== undefined)?.["current-context"];
  if (current === undefined) {
    throw new Error(`${label}: current-context is not set; kubectl config use-context NAME sets it`);
  }
  const find = <T extends { name: string }>(kind: string, name: string, entries: (file: File) => T[]): T => {
    const all = files.flatMap(entries);
    const found = all.find((entry) => entry.name === name);
    if (found !== undefined) return found;
    const names = [...new Set(all.map((entry) => entry.name))].join(", ");
    throw new Error(`${label}: there is no ${kind} "${name}"; it has ${names || "none"}`);
  };
  const context = find("context", current, ({ config }) => config.contexts);
  const cluster = find("cluster", context.cluster, ({ config }) => config.clusters);
  const user = context.user ? find("user", context.user, ({ config }) => config.users) : { name: "" };
  check(label, cluster, user);
  return {
    namespace: context.namespace,
    cluster,
    user,
    ownCluster: find("cluster", cluster.name, (file) => file.clusters).cluster,
    ownUser: context.user ? find("user", user.name, (file) => file.users).user : userSchema.parse({}),
  };
}

async function readOne(path: string, mayBeMissing: boolean): Promise<File | undefined> {
  let content: string;
  try {
    content = await readFile(path, "utf8");
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOENT" && mayBeMissing) return undefined;
    throw new Error(`kubeconfig ${path}: ${code === "ENOENT" ? "no such file" : `cannot be read: ${code}`}`);
  }
  const document = parseDocument(content);
  const [broken] = document.errors;
  if (broken !== undefined) {
    // Its first line only: the others show the text, which may be a token.
    throw new Error(`kubeconfig ${path}: not YAML: ${broken.message.split("\n")[0]?.replace(/:$/, "")}`);
  }
  const parsed = fileSchema.safeParse(document.toJS() ?? {});
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new Error(`kubeconfig ${path}: ${issue?.path.join(".") || "the whole"}: ${issue?.message}`);
  }
  const folder = dirname(resolve(path));
  const config = new KubeConfig();
  try {
    config.loadFromString(JSON.stringify(parsed.data));
    config.makePathsAbsolute(folder);
  } catch (error) {
    throw new Error(`kubeconfig ${path}: ${firstLineOf(error)}`);
  }
  for (const { user } of parsed.data.users) {
    if (user.tokenFile) user.tokenFile = resolve(folder, user.tokenFile);
    // A path is relative to the kubeconfig; a bare name is looked up on PATH.
    if (user.exec?.command.includes("/")) user.exec.command = resolve(folder, user.exec.command);
  }
  return { ...parsed.data, config };
}

function check(label: string, cluster: Cluster, user: User): void {
  if (!/^https?:\/\//.test(cluster.server) || !URL.canParse(cluster.server)) {
    throw new Error(
      `${label}: cluster "${cluster.name}": server "${cluster.server}": expected an http:// or https:// URL`,
    );
  }
  if (cluster.skipTLSVerify && (cluster.caData || cluster.caFile)) {
    throw new Error(
      `${label}: cluster "${cluster.name}": certificate-authority and insecure-skip-tls-verify exclude each other; remove one`,
    );
  }
  if (!(user.certData || user.certFile) !== !(user.keyData || user.keyFile)) {
    throw new Error(`${label}: user "${user.name}": client-certificate and client-key go together; one is missing`);
  }
  if (user.authProvider && user.authProvider.name !== "oidc") {
    throw new Error(
      `${label}: user "${user.name}": auth-provider "${user.authProvider.name}" is not known (only oidc); use its exec plug-in`,
    );
  }
}

/** client-node impersonates a user without groups. */
function impersonationOf(user: KubeconfigContext["ownUser"]): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = {};
  if (user.as !== undefined) headers["Impersonate-User"] = user.as;
  if (user["as-uid"] !== undefined) headers["Impersonate-Uid"] = user["as-uid"];
  if (user["as-groups"].length > 0) headers["Impersonate-Group"] = user["as-groups"];
  for (const [key, values] of Object.entries(user["as-user-extra"] ?? {})) {
    headers[`Impersonate-Extra-${encodeURIComponent(key.toLowerCase())}`] = values;
  }
  return headers;
}
