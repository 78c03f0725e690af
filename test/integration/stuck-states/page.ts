import { REASONS, type Reason } from "../../../src/api/v1alpha1/reasons.ts";
import type { Outputs } from "./outputs.ts";
import type { Scene } from "./stage.ts";

/** Reasons that need a user and that no scene shows, each with where a test produces it. */
export const SHOWN_ELSEWHERE: Partial<Record<Reason, string>> = {
  BillsTooLarge: "needs a service with 50,000 bills of an hour: test/unit/provider/money/period.test.ts",
  BudgetUnknown: "needs a service that hides its budgets: test/sim/stories/budgets.test.ts",
  CostTooHigh: "needs bills with a price: test/component/controllers/jobs/max-cost.test.ts",
  PriceUnknown: "needs an account without bills: test/component/controllers/jobs/max-cost.test.ts",
  ServedByAnotherInstallation: "needs a second installation: test/faults/two-installations.test.ts",
  EtcdRestored: "needs a restored etcd: test/unit",
  ExportForbidden: "needs an operator without a permission: test/integration/chart-rbac.test.ts",
  PathNotFound: "needs a gateway without a route: test/unit/controllers/jobs",
  PollsFailing: "stalls after ten minutes of failed polls: test/unit/controllers/jobs",
  RemoteStatusUnknown: "stalls after an hour with the same status: test/unit/provider/tasks",
  ReadForbidden: "needs an operator without a permission: test/integration/chart-rbac.test.ts",
  ResponseUnusable: "has the commands of SubmissionUnknown: test/component/controllers/jobs/unusable.test.ts",
  StoreCorrupt: "needs a store that changes bytes: test/unit/artifacts",
  ObjectNotFound: "needs an object of a store: test/unit/controllers/store-objects.test.ts",
  ShareNotFound: "needs a ClusterAccount with shares: test/sim/stories/shares.test.ts",
  NotAllowedByShare: "needs a ClusterAccount with shares: test/sim/stories/shares.test.ts",
  SharesInvalid: "needs a ClusterAccount with shares: test/sim/stories/shares.test.ts",
  InvalidItems: "of a batch: test/integration/batches.test.ts",
  ItemsChanged: "of a batch: test/integration/batches.test.ts",
  JobNameTaken: "of a batch: test/unit/controllers/batch/controller.test.ts",
  JobsHalted: "of a batch: test/unit/controllers/batch/controller.test.ts",
  FailedIndexes: "of a batch: test/integration/batches.test.ts",
  MaxFailedIndexesExceeded: "of a batch: test/unit/controllers/batch/controller.test.ts",
};

/** Reasons after which an object continues without a user, has reached its goal, or does what the user asked for. */
export const NEED_NOBODY: readonly Reason[] = [
  ...([
    "Pending",
    "Progressing",
    "Creating",
    "Updating",
    "Deleting",
    "Submitting",
    "Queued",
    "Reusing",
    "Running",
  ] as const),
  ...([
    "Storing",
    "RateLimited",
    "ConcurrencyLimited",
    "ShareLimited",
    "Retrying",
    "ListUnreadable",
    "Unreachable",
  ] as const),
  ...([
    "Ready",
    "Serving",
    "InSync",
    "Completed",
    "Available",
    "Stored",
    "Authenticated",
    "Reachable",
    "SharesValid",
  ] as const),
  ...(["WithinBudget", "Resumed", "Attached", "Reported", "NotBegun", "BillsUnreadable", "Exported"] as const),
  ...(["Suspended", "Stopped", "Paused", "Observing", "AlreadySubmitted", "Drifted"] as const),
  ...(["NotServing", "RemoteStateUnknown", "RemoteError", "Expiring", "Expired", "TaskRunsOn"] as const),
];

export const ALL_REASONS = Object.values(REASONS).flatMap(Object.keys) as Reason[];

export type Group = { title: string; scenes: readonly Scene[] };

const INTRODUCTION = `<!-- Written by test/integration/stuck-states.test.ts with \`-u\`; do not edit. -->
# Stuck states

Each state in which an object needs you: what \`mooring explain\` prints before the history, and the command that resolves it. A condition and, in most
states, an event of the object have the same message. A test brings objects into each state, compares this page with the output, and runs the commands.

Names, identifiers and times are examples. \`mooring status --stuck\` lists your objects that need you.

See [Troubleshooting](../how-to/troubleshooting.md) for the background, and [Reasons](reasons.md) for the states that need nobody.
`;

export function pageOf(groups: readonly Group[], outputs: ReadonlyMap<Scene, Outputs>): string {
  const parts = groups.map(({ title, scenes }) => {
    const sections = scenes.map((scene) => sectionOf(scene, outputs.get(scene)));
    return `## ${title}\n\n${sections.join("\n")}`;
  });
  const others = Object.entries(SHOWN_ELSEWHERE).map(([reason]) => `\`${reason}\``);
  return `${INTRODUCTION}\n${parts.join("\n")}\n## Other states\n\nThese reasons need you too, and have messages of the same form: ${others.join(", ")}. See [Reasons](reasons.md).\n`;
}

const headingOf = ({ reason, of }: Scene) => (of === undefined ? reason : `${reason} ${of}`);

function sectionOf(scene: Scene, outputs: Outputs | undefined): string {
  const { kind, name, when, advice } = scene;
  const type = kind.toLowerCase();
  const block = (language: string, text = "") => `\`\`\`${language}\n${text}\n\`\`\`\n`;
  return [
    `### ${headingOf(scene)}\n`,
    `${when}\n`,
    `\`mooring explain ${type}/${name} -n team-a\`\n`,
    block("text", outputs?.explain),
    `${advice ?? "To resolve it:"}\n`,
    block("sh", outputs?.commands.join("\n")),
  ].join("\n");
}
