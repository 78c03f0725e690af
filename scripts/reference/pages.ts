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
  mediabatch: "batches",
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
    "| [The Kubernetes API](api.md) | What all kinds have in common: conventions, annotations, fields at the service, phases of jobs |",
    "| [Conditions](conditions.md) | The types in `status.conditions` |",
    "| [Reasons](reasons.md) | The reasons of all conditions |",
    "| [Events](events.md) | The events of all kinds |",
    "| [Metrics](metrics.md) | What the operator serves at `/metrics` |",
    "| [Command line](command-line.md) | Every command with its flags and exit codes |",
    "| [Stuck states](stuck-states.md) | Each state that needs you, with the command that resolves it |",
    "| [Simulator](simulator.md) | The service as a program, for tests and trials |",
    "| [Performance](performance.md) | Measurements, and how to repeat them |",
    "| [First steps](first-steps.md) | Transcripts from a clone to the first results, with times |",
    "| [Dependencies](dependencies.md) | Every dependency with its reason |",
    "",
  ].join("\n");
}
