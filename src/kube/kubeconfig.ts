import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { parseDocument } from "yaml";
import { z } from "zod";
import type { ExecPlugin } from "./exec-plugin.ts";

/** A secret or a certificate: where it is read from each time, or what it is for ever. */
export type Source = { file: string } | { text: string };

/** One cluster and how to prove who we are to it. Paths are absolute. */
export type ClusterAccess = {
  /** For messages: which file, or which pod. */
  origin: string;
  server: URL;
  ca: Source | undefined;
  insecure: boolean;
  serverName: string | undefined;
  proxyURL: string | undefined;
  namespace: string | undefined;
  cert: Source | undefined;
  key: Source | undefined;
  token: Source | undefined;
  basic: { username: string; password: string } | undefined;
  exec: ExecPlugin | undefined;
  oidc: Record<string, string> | undefined;
  /** Impersonate-* headers. */
  impersonation: Record<string, string | string[]>;
};

const text = z
  .string()
  .nullish()
  .transform((value) => value || undefined);
const list = <T extends z.ZodType>(item: T) =>
  z
    .array(item)
    .nullish()
    .transform((value) => value ?? []);

const clusterSchema = z.object({
  server: z.string().min(1),
  "certificate-authority": text,
  "certificate-authority-data": text,
  "insecure-skip-tls-verify": z.boolean().nullish(),
  "tls-server-name": text,
  "proxy-url": text,
  extensions: list(z.object({ name: z.string(), extension: z.unknown() })),
});
const execSchema = z.object({
  apiVersion: z.enum(["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"]),
  command: z.string().min(1),
  args: list(z.string()),
  env: list(z.object({ name: z.string(), value: z.string() })),
  installHint: text,
  provideClusterInfo: z.boolean().nullish(),
  interactiveMode: text,
});
const userSchema = z.object({
  "client-certificate": text,
  "client-certificate-data": text,
  "client-key": text,
  "client-key-data": text,
  token: text,
  tokenFile: text,
  username: text,
  password: text,
  exec: execSchema.nullish(),
  "auth-provider": z.object({ name: z.string(), config: z.record(z.string(), z.string()).nullish() }).nullish(),
  as: text,
  "as-uid": text,
  "as-groups": list(z.string()),
  "as-user-extra": z.record(z.string(), z.array(z.string())).nullish(),
});
const contextSchema = z.object({ cluster: z.string().min(1), user: text, namespace: text });
const fileSchema = z.object({
  clusters: list(z.object({ name: z.string(), cluster: clusterSchema })),
  users: list(
    z.object({ name: z.string(), user: userSchema.nullish().transform((user) => user ?? userSchema.parse({})) }),
  ),
  contexts: list(z.object({ name: z.string(), context: contextSchema })),
  "current-context": text,
});

type Cluster = z.output<typeof clusterSchema>;
type User = z.output<typeof userSchema>;
type Exec = z.output<typeof execSchema>;
type Named<T> = Map<string, { value: T; folder: string }>;

/**
 * The current context of one file or several, merged as kubectl does: the first file that says something wins.
 * @param files paths; those that do not exist are passed over when there are several, but one must be there
 * @param label how the files were named, for messages: `kubeconfig /path`, `KUBECONFIG=a:b`
 * @throws Error of one line: what is missing or wrong, and where
 */
export async function readKubeconfig(files: readonly string[], label: string): Promise<ClusterAccess> {
  const clusters: Named<Cluster> = new Map();
  const users: Named<User> = new Map();
  const contexts: Named<z.output<typeof contextSchema>> = new Map();
  let current: string | undefined;
  let found = 0;
  for (const file of files) {
    const parsed = await readOne(file, files.length > 1);
    if (parsed === undefined) continue;
    found++;
    const folder = dirname(resolve(file));
    const keep = <T>(all: Named<T>, name: string, value: T) => {
      if (!all.has(name)) all.set(name, { value, folder });
    };
    for (const { name, cluster } of parsed.clusters) keep(clusters, name, cluster);
    for (const { name, user } of parsed.users) keep(users, name, user);
    for (const { name, context } of parsed.contexts) keep(contexts, name, context);
    current ??= parsed["current-context"];
  }
  if (found === 0) throw new Error(`${label}: none of these files exists`);
  if (current === undefined)
    throw new Error(`${label}: current-context is not set; kubectl config use-context NAME sets it`);
  const context = named(label, "context", contexts, current).value;
  const cluster = named(label, "cluster", clusters, context.cluster);
  const user =
    context.user === undefined
      ? { value: userSchema.parse({}), folder: cluster.folder }
      : named(label, "user", users, context.user);
  return accessOf(label, context, cluster, user);
}

function named<T>(label: string, kind: string, all: Named<T>, name: string): { value: T; folder: string } {
  const entry = all.get(name);
  if (entry !== undefined) return entry;
  throw new Error(`${label}: there is no ${kind} "${name}"; it has ${[...all.keys()].join(", ") || "none"}`);
}

async function readOne(file: string, mayBeMissing: boolean): Promise<z.output<typeof fileSchema> | undefined> {
  let content: string;
  try {
    content = await readFile(file, "utf8");
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOENT" && mayBeMissing) return undefined;
    throw new Error(`kubeconfig ${file}: ${code === "ENOENT" ? "no such file" : `cannot be read: ${code}`}`);
  }
  const document = parseDocument(content);
  const [broken] = document.errors;
  if (broken !== undefined) {
    // Its first line only: the others show the text, which may be a token.
    throw new Error(`kubeconfig ${file}: not YAML: ${broken.message.split("\n")[0]?.replace(/:$/, "")}`);
  }
  const parsed = fileSchema.safeParse(document.toJS() ?? {});
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new Error(`kubeconfig ${file}: ${issue?.path.join(".") || "the whole"}: ${issue?.message}`);
}

function accessOf(
  label: string,
  context: z.output<typeof contextSchema>,
  { value: cluster, folder }: { value: Cluster; folder: string },
  { value: user, folder: userFolder }: { value: User; folder: string },
): ClusterAccess {
  const where = `${label}: cluster "${context.cluster}"`;
  if (!/^https?:\/\//.test(cluster.server) || !URL.canParse(cluster.server)) {
    throw new Error(`${where}: server "${cluster.server}": expected an http:// or https:// URL`);
  }
  const ca = sourceOf(folder, cluster["certificate-authority"], cluster["certificate-authority-data"]);
  const insecure = cluster["insecure-skip-tls-verify"] === true;
  if (insecure && ca !== undefined) {
    throw new Error(`${where}: certificate-authority and insecure-skip-tls-verify exclude each other; remove one`);
  }
  const cert = sourceOf(userFolder, user["client-certificate"], user["client-certificate-data"]);
  const key = sourceOf(userFolder, user["client-key"], user["client-key-data"]);
  if ((cert === undefined) !== (key === undefined)) {
    throw new Error(`${label}: user "${context.user}": client-certificate and client-key go together; one is missing`);
  }
  const provider = user["auth-provider"];
  if (provider && provider.name !== "oidc") {
    throw new Error(
      `${label}: user "${context.user}": auth-provider "${provider.name}" is not known (only oidc); use its exec plug-in`,
    );
  }
  return {
    origin: label,
    server: new URL(cluster.server),
    ca,
    insecure,
    serverName: cluster["tls-server-name"],
    proxyURL: cluster["proxy-url"],
    namespace: context.namespace,
    cert,
    key,
    // A file wins over a token beside it (clientcmd: AuthInfo).
    token: user.tokenFile
      ? { file: resolve(userFolder, user.tokenFile) }
      : user.token
        ? { text: user.token }
        : undefined,
    basic: user.username === undefined ? undefined : { username: user.username, password: user.password ?? "" },
    exec: user.exec ? pluginOf(user.exec, userFolder, cluster) : undefined,
    oidc: provider?.config ?? undefined,
    impersonation: impersonationOf(user),
  };
}

/** Data in the file wins over a path beside it, as with kubectl. */
function sourceOf(folder: string, path: string | undefined, data: string | undefined): Source | undefined {
  if (data !== undefined) return { text: Buffer.from(data, "base64").toString("utf8") };
  return path === undefined ? undefined : { file: resolve(folder, path) };
}

function pluginOf(exec: Exec, folder: string, cluster: Cluster): ExecPlugin {
  return {
    apiVersion: exec.apiVersion,
    // A path is meant from the kubeconfig on; a bare name is looked up on PATH.
    command: exec.command.includes("/") ? resolve(folder, exec.command) : exec.command,
    args: exec.args,
    env: Object.fromEntries(exec.env.map(({ name, value }) => [name, value])),
    interactiveMode: exec.interactiveMode,
    installHint: exec.installHint,
    cluster: exec.provideClusterInfo
      ? {
          server: cluster.server,
          "tls-server-name": cluster["tls-server-name"],
          "insecure-skip-tls-verify": cluster["insecure-skip-tls-verify"] ?? undefined,
          "proxy-url": cluster["proxy-url"],
          config: cluster.extensions.find(({ name }) => name === "client.authentication.k8s.io/exec")?.extension,
        }
      : undefined,
  };
}

function impersonationOf(user: User): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = {};
  if (user.as !== undefined) headers["Impersonate-User"] = user.as;
  if (user["as-uid"] !== undefined) headers["Impersonate-Uid"] = user["as-uid"];
  if (user["as-groups"].length > 0) headers["Impersonate-Group"] = user["as-groups"];
  for (const [key, values] of Object.entries(user["as-user-extra"] ?? {})) {
    headers[`Impersonate-Extra-${encodeURIComponent(key.toLowerCase())}`] = values;
  }
  return headers;
}
