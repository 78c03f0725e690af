import { execFile } from "node:child_process";
import * as z from "zod";
import type { KubeconfigCluster, KubeconfigExec } from "./kubeconfig-schema.ts";

/** A credential of a plug-in: a token, a client certificate with its key (PEM), or both. */
export type ExecCredential = {
  token: string | undefined;
  cert: string | undefined;
  key: string | undefined;
  /** Milliseconds since the epoch; Infinity when the plug-in names no end. */
  expiresAt: number;
};

/** The cluster as the kubeconfig has it, and its certificate authority in base64. */
type ExecCluster = KubeconfigCluster & { ca: string | undefined };

const TIMEOUT_MS = 30_000;
const MAX_OUTPUT_BYTES = 1 << 20;

const answerSchema = z.object({
  kind: z.literal("ExecCredential"),
  apiVersion: z.string(),
  status: z.object({
    token: z.string().min(1).optional(),
    clientCertificateData: z.string().min(1).optional(),
    clientKeyData: z.string().min(1).optional(),
    expirationTimestamp: z.string().nullish(),
  }),
});

/**
 * Runs the exec plug-in of a kubeconfig's user (client.authentication.k8s.io) once, without a terminal. client-node 2.0.1
 * has this too, but it passes no cluster (KUBERNETES_EXEC_INFO), waits without a timeout, does not
 * run the plug-in again after a 401, and does not check its output.
 * @param env the process's environment: the plug-in needs PATH, HOME and the like
 * @throws Error of one line that names the plug-in; the message never has its standard output, which may be a token
 */
export async function runExecPlugin(
  plugin: KubeconfigExec,
  env: Readonly<Record<string, string | undefined>>,
  cluster: ExecCluster,
): Promise<ExecCredential> {
  const name = `exec plug-in "${plugin.command}"`;
  if (plugin.interactiveMode === "Always") {
    throw new Error(`${name}: interactiveMode is Always, and there is no terminal; use a plug-in that needs none`);
  }
  const ownEnv = Object.fromEntries(plugin.env.map(({ name, value }) => [name, value]));
  const told = { ...env, ...ownEnv, KUBERNETES_EXEC_INFO: infoFor(plugin, cluster) };
  const parsed = answerSchema.safeParse(parseJSON(await run(name, plugin, told)));
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const field = issue?.path.length ? `${issue.path.join(".")}: ${issue.message}` : "it is not JSON of an object";
    throw new Error(`${name}: its output is no ExecCredential: ${field}`);
  }
  const { apiVersion, status } = parsed.data;
  if (apiVersion !== plugin.apiVersion) {
    throw new Error(`${name}: it answered in ${apiVersion}; the kubeconfig says ${plugin.apiVersion}`);
  }
  const { token, clientCertificateData: cert, clientKeyData: key } = status;
  if (token === undefined && cert === undefined)
    throw new Error(`${name}: neither a token nor a certificate in its answer`);
  if ((cert === undefined) !== (key === undefined)) {
    throw new Error(`${name}: clientCertificateData and clientKeyData go together; one of them is missing`);
  }
  const expiresAt = status.expirationTimestamp ? Date.parse(status.expirationTimestamp) : Number.POSITIVE_INFINITY;
  if (Number.isNaN(expiresAt)) throw new Error(`${name}: expirationTimestamp is not an RFC 3339 time`);
  return { token, cert, key, expiresAt };
}

/** KUBERNETES_EXEC_INFO: of the cluster only what `provideClusterInfo` asks for. */
function infoFor(plugin: KubeconfigExec, { extensions, ca, ...cluster }: ExecCluster): string {
  const info = {
    server: cluster.server,
    "tls-server-name": cluster["tls-server-name"],
    "insecure-skip-tls-verify": cluster["insecure-skip-tls-verify"],
    "proxy-url": cluster["proxy-url"],
    "certificate-authority-data": ca,
    config: extensions.find(({ name }) => name === "client.authentication.k8s.io/exec")?.extension,
  };
  const spec = { interactive: false, cluster: plugin.provideClusterInfo ? info : undefined };
  return JSON.stringify({ apiVersion: plugin.apiVersion, kind: "ExecCredential", spec });
}

function run(name: string, plugin: KubeconfigExec, env: Record<string, string | undefined>): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { env, timeout: TIMEOUT_MS, maxBuffer: MAX_OUTPUT_BYTES };
    const child = execFile(plugin.command, plugin.args, options, (error, stdout, stderr) => {
      if (error === null) return resolve(stdout);
      const hint = plugin.installHint === undefined ? "" : `; ${firstLine(plugin.installHint)}`;
      if (error.code === "ENOENT") return reject(new Error(`${name}: no such program${hint}`));
      if (typeof error.code === "string") return reject(new Error(`${name}: ${error.code}`));
      const end = error.killed ? `no answer within ${TIMEOUT_MS / 1000} s` : `exit ${error.code ?? error.signal}`;
      reject(new Error(`${name}: ${end}: ${firstLine(stderr) || "it wrote nothing on standard error"}`));
    });
    child.stdin?.on("error", () => undefined); // it may end without reading
    child.stdin?.end();
  });
}

function firstLine(text: string): string {
  return (text.split("\n").find((line) => line.trim() !== "") ?? "").trim().slice(0, 300);
}

function parseJSON(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // JSON.parse quotes what it read, which may be a token
  }
}
