import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseAllDocuments, stringify } from "yaml";
import { runProgram } from "../../tools/cluster/run-program.ts";
import { tool } from "../../tools/programs/tool.ts";

/** An object of a manifest. */
export type Manifest = {
  apiVersion: string;
  kind: string;
  metadata: {
    name: string;
    namespace?: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
  };
  [field: string]: unknown;
};

export const NAMESPACE = "mooring-system";
const CHART = "charts/mooring";

/** Packs the chart. */
export async function packChart(out: string, version: string): Promise<void> {
  await runProgram(await tool("helm"), [
    "package",
    CHART,
    `--version=${version}`,
    `--app-version=${version}`,
    `--destination=${out}`,
  ]);
}

/**
 * The objects of the chart with its defaults, for users without Helm: the namespace comes first, and hooks and tests, which only Helm
 * runs, are left out.
 */
export async function renderChart(version: string): Promise<Manifest[]> {
  const text = await runProgram(await tool("helm"), [
    "template",
    "mooring",
    CHART,
    `--namespace=${NAMESPACE}`,
    `--set=image.tag=${version}`,
    "--no-hooks",
    "--skip-tests",
  ]);
  const objects = parseAllDocuments(text).flatMap((document): Manifest[] => document.toJS() ?? []);
  const namespace: Manifest = { apiVersion: "v1", kind: "Namespace", metadata: { name: NAMESPACE } };
  return [namespace, ...objects.map(withoutHelm)];
}

/** Without what only Helm reads. */
function withoutHelm(object: Manifest): Manifest {
  return JSON.parse(JSON.stringify(object), (key, value) => {
    const helms = key.startsWith("helm.sh/") || (key === "app.kubernetes.io/managed-by" && value === "Helm");
    return helms ? undefined : value;
  });
}

export const documents = (objects: readonly Manifest[]) =>
  objects.map((object) => stringify(object, { lineWidth: 0 })).join("---\n");

/** A kustomize base: a file for each kind, so that patches and diffs stay readable. */
export async function writeKustomizeBase(folder: string, objects: readonly Manifest[]): Promise<void> {
  await mkdir(folder, { recursive: true });
  const files = Map.groupBy(objects, ({ kind }) => `${kind.toLowerCase()}.yaml`);
  for (const [file, group] of files) await writeFile(join(folder, file), documents(group));
  const kustomization = {
    apiVersion: "kustomize.config.k8s.io/v1beta1",
    kind: "Kustomization",
    resources: [...files.keys()],
  };
  await writeFile(join(folder, "kustomization.yaml"), stringify(kustomization));
}
