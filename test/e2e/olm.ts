import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parse, stringify } from "yaml";
import { NAMES } from "../../scripts/release/names.ts";
import { type Guarded, startGuarded } from "../../tools/cluster/guarded.ts";
import { runProgram } from "../../tools/cluster/run-program.ts";
import { tool } from "../../tools/programs/tool.ts";
import { type Kubectl, until } from "./kubectl.ts";
import type { Prepared } from "./setup.ts";

/** The folder whose go.mod pins the Operator Lifecycle Manager. */
const OLM_MODULE = fileURLToPath(new URL("../../tools/programs/olm", import.meta.url));
/** Has OLM's kinds, in the version that this OLM uses. */
const API_MODULE = "github.com/operator-framework/api";
const CSV = "mooring.clusterserviceversion.yaml";
const INSTALL_TIMEOUT_MS = 120_000;
/** Of the rights that a plan makes. */
const NAME = "mooring-by-olm";

/** The Operator Lifecycle Manager. Its operator runs on this machine instead of in a pod: its image is not part of the test. */
type Olm = {
  install(): Promise<void>;
  remove(): Promise<void>;
  /** Ends OLM, also after a failed test. */
  stop(): Promise<void>;
};

export async function validateBundle({ bundle }: Prepared): Promise<void> {
  await runProgram(await tool("operator-verify"), ["manifests", "--operatorhub_validate", join(bundle, "manifests")]);
}

/**
 * Installs the bundle as an InstallPlan does: kinds, Services, service account and rights first, then the ClusterServiceVersion. OLM checks
 * them and makes the rest. A plan itself needs a catalog in a registry.
 */
export function olmOf(tools: Kubectl, { bundle, kubeconfig, version }: Prepared, namespace: string): Olm {
  const { kubectl, kubectlWith } = tools;
  const csv = `csv/${NAMES.olmPackage}.v${version}`;
  let processes: Guarded | undefined;
  let olmKinds = "";

  async function manifests(): Promise<string[]> {
    const files = await readdir(join(bundle, "manifests"));
    return files.filter((name) => name !== CSV).flatMap((name) => ["-f", join(bundle, "manifests", name)]);
  }

  return {
    async install() {
      const download: { Dir: string } = JSON.parse(
        await runProgram("go", ["mod", "download", "-json", API_MODULE], { cwd: OLM_MODULE }),
      );
      olmKinds = join(download.Dir, "crds");
      await kubectl("apply", "--server-side", "-f", olmKinds);
      await kubectl("wait", "--for=condition=Established", "--timeout=60s", "-f", olmKinds);
      processes = await startGuarded();
      await processes.start("olm", "env", [`KUBECONFIG=${kubeconfig}`, await tool("olm")]);
      const apiVersion = "operators.coreos.com/v1";
      const group = { apiVersion, kind: "OperatorGroup", metadata: { name: "all", namespace }, spec: {} };
      const place = { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } };
      await kubectlWith(`${stringify(place)}---\n${stringify(group)}`, "apply", "-f", "-");
      await kubectl("apply", "--server-side", "-n", namespace, ...(await manifests()));
      const versionFile = join(bundle, "manifests", CSV);
      const rights = rightsOf(parse(await readFile(versionFile, "utf8")), namespace);
      await kubectlWith(rights.map((one) => stringify(one)).join("---\n"), "apply", "-f", "-");
      await kubectl("apply", "--server-side", "-n", namespace, "-f", versionFile);
      const phase = () => kubectl("-n", namespace, "get", csv, "-o", "jsonpath={.status.phase} {.status.message}");
      await until(
        "OLM has installed the bundle",
        async () => (await phase()).startsWith("Succeeded"),
        INSTALL_TIMEOUT_MS,
      );
    },
    async remove() {
      if (processes === undefined) return;
      await kubectl("-n", namespace, "delete", csv, "--ignore-not-found", "--timeout=120s");
      await kubectl("delete", "--ignore-not-found", "--timeout=120s", "-n", namespace, ...(await manifests()));
      for (const kind of ["clusterrolebinding", "clusterrole"])
        await kubectl("delete", kind, NAME, "--ignore-not-found");
      await kubectl("delete", "namespace", namespace, "--ignore-not-found", "--timeout=120s");
      await kubectl("delete", "--ignore-not-found", "--timeout=120s", "-f", olmKinds);
      await processes.stop();
      processes = undefined;
    },
    stop: async () => {
      await processes?.stop();
    },
  };
}

type Permission = { serviceAccountName: string; rules: unknown[] };
type ServiceVersion = { spec: { install: { spec: { clusterPermissions: Permission[]; permissions: Permission[] } } } };

/** The service account, roles and bindings that a plan makes from the permissions of a ClusterServiceVersion. */
function rightsOf({ spec }: ServiceVersion, namespace: string): object[] {
  const { clusterPermissions, permissions } = spec.install.spec;
  const accounts = new Set([...clusterPermissions, ...permissions].map(({ serviceAccountName }) => serviceAccountName));
  const apiVersion = "rbac.authorization.k8s.io/v1";
  const grant = (kind: "ClusterRole" | "Role", { serviceAccountName, rules }: Permission) => {
    const metadata = { name: NAME, ...(kind === "Role" ? { namespace } : {}) };
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind, name: NAME };
    const subjects = [{ kind: "ServiceAccount", name: serviceAccountName, namespace }];
    return [
      { apiVersion, kind, metadata, rules },
      { apiVersion, kind: `${kind}Binding`, metadata, roleRef, subjects },
    ];
  };
  return [
    ...[...accounts].map((name) => ({ apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace } })),
    ...clusterPermissions.flatMap((one) => grant("ClusterRole", one)),
    ...permissions.flatMap((one) => grant("Role", one)),
  ];
}
