import { execFile } from "node:child_process";
import { z } from "zod";

/** A kubeconfig user's `exec` (client.authentication.k8s.io). */
export type ExecPlugin = {
  apiVersion: string;
  /** Absolute, or looked up on PATH. */
  command: string;
  args: readonly string[];
  env: Readonly<Record<string, string>>;
  interactiveMode: string | undefined;
  installHint: string | undefined;
  /** What the plug-in is told of the cluster beside its CA (`provideClusterInfo`); undefined: nothing. */
  cluster: object | undefined;
};

/** What a plug-in issued: a token, a client certificate with its key (PEM), or both. */
export type ExecCredential = {
  token: string | undefined;
  cert: string | undefined;
  key: string | undefined;
  /** Milliseconds since the epoch; Infinity when the plug-in names no end. */
  expiresAt: number;
};

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
 * Runs the plug-in once, without a terminal.
 * @param env the process's environment: the plug-in needs PATH, HOME and the like
 * @param ca the cluster's certificate authority, PEM
 * @throws Error of one line that names the plug-in; what it printed on standard output (a token) is never part of it
 */
export async function runExecPlugin(
  plugin: ExecPlugin,
  env: Readonly<Record<string, string | undefined>>,
  ca: string | undefined,
): Promise<ExecCredential> {
  const name = `exec plug-in "${plugin.command}"`;
  if (plugin.interactiveMode === "Always") {
    throw new Error(`${name}: interactiveMode is Always, and there is no terminal; use a plug-in that needs none`);
  }
  const output = await run(name, plugin, { ...env, ...plugin.env, KUBERNETES_EXEC_INFO: infoOf(plugin, ca) });
  const parsed = answerSchema.safeParse(parseJSON(output));
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

function infoOf(plugin: ExecPlugin, ca: string | undefined): string {
  const authority = ca === undefined ? undefined : Buffer.from(ca).toString("base64");
  const cluster =
    plugin.cluster === undefined ? undefined : { ...plugin.cluster, "certificate-authority-data": authority };
  return JSON.stringify({
    apiVersion: plugin.apiVersion,
    kind: "ExecCredential",
    spec: { interactive: false, cluster },
  });
}

function run(name: string, plugin: ExecPlugin, env: Record<string, string | undefined>): Promise<string> {
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
