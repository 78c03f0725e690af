import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { KINDS } from "../src/api/v1alpha1/kinds.ts";
import { createProgram, summariesOf } from "../src/cli/program.ts";
import { healthConfigMap } from "./argo-cd.ts";
import { between } from "./between.ts";
import { chartKinds } from "./chart-kinds.ts";
import { withArtifactHub } from "./chart-metadata.ts";
import { chartValues, valuesTable, withDescriptions } from "./chart-values.ts";
import { reasonsPage } from "./reasons.ts";
import { referencePages } from "./reference/pages.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const read = (path: string) => readFile(root + path, "utf8");

/** Pages and examples that are generated from the source, completely or in part: path from the root, and expected text. */
export async function generatedPages(): Promise<Map<string, string>> {
  return new Map([
    ["charts/mooring/files/kinds.yaml", chartKinds()],
    ["examples/gitops/argo-cd/argocd-cm.yaml", healthConfigMap(await read("examples/gitops/argo-cd/health.lua"))],
    ["docs/reference/reasons.md", reasonsPage()],
    ["src/cli/summaries.json", summariesOf(await createProgram())],
    ...(await chartFiles()),
    ...(await referencePages()),
  ]);
}

async function chartFiles(): Promise<[string, string][]> {
  const chart = "charts/mooring/Chart.yaml";
  const readme = "charts/mooring/README.md";
  const schema = "charts/mooring/values.schema.json";
  const values = await read("charts/mooring/values.yaml");
  const table = valuesTable(chartValues(values, JSON.parse(await read(schema))));
  return [
    [chart, withArtifactHub(await read(chart), KINDS)],
    [readme, between("values", await read(readme), table)],
    [schema, withDescriptions(await read(schema), values)],
  ];
}
