import type { KindDefinition } from "../../src/api/schema/definition.ts";
import { KINDS } from "../../src/api/v1alpha1/kinds.ts";
import { createProgram } from "../../src/cli/program.ts";
import { commandsPage } from "./commands-page.ts";
import { conditionsPage } from "./conditions-page.ts";
import { EVENTS, eventsPage } from "./events-page.ts";
import { kindPage, kindPagePath } from "./kind-page.ts";
import { metricsPage, operatorMetrics } from "./metrics-page.ts";
import { pageHead } from "./table.ts";

/** The pages of docs/reference by path. */
export async function referencePages(): Promise<Map<string, string>> {
  return new Map([
    ["docs/reference/README.md", indexPage()],
    ...KINDS.map((kind): [string, string] => [kindPagePath(kind), kindPage(kind, `../how-to/${guideOf(kind)}.md`)]),
    ["docs/reference/conditions.md", conditionsPage()],
    ["docs/reference/events.md", eventsPage(EVENTS)],
    ["docs/reference/metrics.md", metricsPage(operatorMetrics())],
    ["docs/reference/command-line.md", commandsPage(await createProgram())],
  ]);
}

/** The guide of docs/how-to for a kind: related kinds share one. */
const GUIDES: Readonly<Record<string, string>> = {
  speechjob: "jobs",
  videojob: "jobs",
  account: "accounts",
  clusteraccount: "accounts",
  billreport: "bills",
  artifactstore: "artifacts",
};

export function guideOf({ singular }: KindDefinition): string {
  return GUIDES[singular] ?? singular;
}

function indexPage(): string {
  const kinds = KINDS.map(
    (kind) =>
      `| [${kind.resource.kind}](${kind.singular}.md) | ${kind.description} [Guide](../how-to/${guideOf(kind)}.md) |`,
  );
  return [
    pageHead("Reference", "src"),
    "| page | content |",
    "|---|---|",
    ...kinds,
    "| [Conditions](conditions.md) | The types in `status.conditions` |",
    "| [Reasons](reasons.md) | The reasons of all conditions |",
    "| [Events](events.md) | The events of all kinds |",
    "| [Metrics](metrics.md) | What the operator serves at `/metrics` |",
    "| [Command line](command-line.md) | Every command with its flags and exit codes |",
    "| [Operator flags](../how-to/operator.md) | Flags and environment variables of the operator |",
    "| [Alerts](../runbooks/README.md) | A runbook for each alert of the chart |",
    "",
  ].join("\n");
}
