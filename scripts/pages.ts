import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { registerImportCommand } from "../src/cli/operate/import.ts";
import { registerOperatorCommand } from "../src/cli/operate/operator.ts";
import { registerSimulatorCommand } from "../src/cli/operate/simulator.ts";
import { healthConfigMap } from "./argo-cd.ts";
import { chartKinds } from "./chart-kinds.ts";
import { flagsTable, withFlags } from "./flags.ts";
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
    ["docs/how-to/operator.md", withFlags(await read("docs/how-to/operator.md"), flagsTable(registerOperatorCommand))],
    ["docs/how-to/import.md", withFlags(await read("docs/how-to/import.md"), flagsTable(registerImportCommand))],
    [
      "docs/reference/simulator.md",
      withFlags(await read("docs/reference/simulator.md"), flagsTable(registerSimulatorCommand)),
    ],
    ...(await referencePages()),
  ]);
}
