import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { SERVICE_ACCOUNT_FOLDER } from "../src/kube/in-cluster.ts";
import { targetOf } from "../tools/cluster/credentials.ts";
import { runProgram } from "../tools/cluster/run-program.ts";
import { BUNDLE } from "./bundle.ts";
import { type ClusterAccess, NAMESPACE } from "./cluster.ts";
import { startCommand } from "./start-command.ts";

/** How the operator finds the API server. A kubeconfig costs it a library that it does not load in a pod. */
export type Access = "ServiceAccount" | "Kubeconfig";

/** The command line of an operator without its flags, and how it finds the API server. */
export type OperatorCommand = { access: Access; command: readonly string[] };

const root = process.getuid?.() === 0 ? [] : ["--user", "--map-root-user"];
/** A mount namespace of the process's own, so that nothing on the machine changes. */
const UNSHARE = ["unshare", ...root, "--mount"];

/**
 * The command that runs the operator with the files of a service account, as in a pod. Where a mount namespace is not allowed, the
 * operator reads a kubeconfig.
 */
export async function operatorCommand(
  { guarded, controlPlane: { kubeconfig } }: ClusterAccess,
  nodeFlags: readonly string[] = [],
): Promise<OperatorCommand> {
  const operator = [...(await startCommand(BUNDLE, guarded.dir, nodeFlags)), "operator"];
  if (!(await canMount())) return { access: "Kubeconfig", command: [...operator, `--kubeconfig=${kubeconfig}`] };
  const { url, ca, headers } = await targetOf(kubeconfig);
  const folder = join(guarded.dir, "service-account");
  await mkdir(folder, { recursive: true });
  const { Authorization = "" } = await headers();
  await writeFile(join(folder, "token"), String(Authorization).replace(/^Bearer /, ""), { mode: 0o600 });
  await writeFile(join(folder, "ca.crt"), String(ca));
  await writeFile(join(folder, "namespace"), NAMESPACE);
  const { hostname, port } = new URL(url);
  const mounted = `mount -t tmpfs tmpfs /var/run && mkdir -p ${SERVICE_ACCOUNT_FOLDER} && cp ${folder}/* ${SERVICE_ACCOUNT_FOLDER} && exec "$@"`;
  const env = [
    "env",
    "--unset=KUBECONFIG",
    "HOME=/nonexistent",
    `KUBERNETES_SERVICE_HOST=${hostname}`,
    `KUBERNETES_SERVICE_PORT=${port}`,
  ];
  return { access: "ServiceAccount", command: [...UNSHARE, "sh", "-c", mounted, "sh", ...env, ...operator] };
}

async function canMount(): Promise<boolean> {
  const [file = "", ...args] = UNSHARE;
  return runProgram(file, [...args, "sh", "-c", "mount -t tmpfs tmpfs /var/run"]).then(
    () => true,
    () => false,
  );
}

/** The flags of a measured operator beside its address of metrics. */
export const OPERATOR_FLAGS: readonly string[] = [
  `--watch-namespaces=${NAMESPACE}`,
  `--operator-namespace=${NAMESPACE}`,
  "--allow-private-networks",
  "--health-probe-bind-address=127.0.0.1:0",
];
