import type { Reason } from "../api/v1alpha1/reasons.ts";
import { batchOf } from "../controllers/jobs/batch-owner.ts";
import { actionsOf } from "./actions.ts";
import type { ClusterSession } from "./cluster-session.ts";
import { type ListEntry, listQuerySchema, selectRows } from "./list-query.ts";
import { moneyView } from "./money-view.ts";
import { resultsOf } from "./result-view.ts";
import { BATCH_KIND, ENDPOINT_KIND, JOB_KINDS } from "./row.ts";
import type { AttentionRow, ObjectRow, OverviewView } from "./view-types.ts";

/** Rows of each part of the overview. */
const ROWS = 6;

const ACTIVE = ["Submitting", "Queued", "Running", "Storing"];
/** What an object can wait for without being stuck: it continues when that is there. */
const WAITS: readonly string[] = [
  "AccountNotFound",
  "AccountNotReady",
  "SecretNotFound",
  "SecretKeyMissing",
  "ConfigMapNotFound",
  "SourceNotFound",
  "StoreNotReady",
  "BudgetExceeded",
  "BudgetUnknown",
  "InsufficientBalance",
] satisfies Reason[];

/** The first page: what needs a person, what runs, what it costs, and the last results. */
export function overviewOf(session: ClusterSession): OverviewView {
  const entries = [...session.entries()];
  const needing = selectRows(entries, listQuerySchema.parse({ view: "attention", limit: ROWS }));
  const active = entries.filter(isActive);
  return {
    attention: { total: needing.total, rows: needing.rows.map((row) => withActions(session, row)) },
    waiting: waitingOf(entries),
    running: { total: active.length, rows: newest(active, ({ row }) => row.created).map(({ row }) => row) },
    endpoints: endpointsOf(entries),
    accounts: moneyView(session).accounts,
    results: lastResults(entries),
    synced: session.synced(),
  };
}

/** The page shows a batch in place of its jobs. */
function isActive({ row, object }: ListEntry): boolean {
  const isWork = JOB_KINDS.includes(row.kind) || row.kind === BATCH_KIND;
  return isWork && ACTIVE.includes(row.state) && batchOf(object.metadata) === undefined;
}

function newest(entries: ListEntry[], timeOf: (entry: ListEntry) => string): ListEntry[] {
  return entries.sort((a, b) => (timeOf(a) < timeOf(b) ? 1 : -1)).slice(0, ROWS);
}

function withActions(session: ClusterSession, row: ObjectRow): AttentionRow {
  const found = session.find(row);
  const actions = found === undefined ? [] : actionsOf(found.resource, found.object);
  return { ...row, actions: actions.filter(({ primary, name }) => primary || name === "reconcile") };
}

function waitingOf(entries: readonly ListEntry[]): OverviewView["waiting"] {
  const counts = new Map<string, number>();
  for (const { row } of entries) {
    if (row.needsUser || !WAITS.includes(row.reason)) continue;
    counts.set(row.reason, (counts.get(row.reason) ?? 0) + 1);
  }
  return [...counts].map(([reason, count]) => ({ reason, count })).sort((a, b) => b.count - a.count);
}

function endpointsOf(entries: readonly ListEntry[]): OverviewView["endpoints"] {
  const sums = { total: 0, ready: 0, suspended: 0, drifting: 0, workers: 0, workersReady: 0, workersMax: 0 };
  for (const { row } of entries) {
    if (row.kind !== ENDPOINT_KIND || row.endpoint === undefined) continue;
    const { workers, drift } = row.endpoint;
    sums.total++;
    if (row.state === "Ready") sums.ready++;
    if (row.state === "Suspended") sums.suspended++;
    else sums.workersMax += workers.max;
    if (drift > 0) sums.drifting++;
    sums.workers += workers.total ?? 0;
    sums.workersReady += workers.ready ?? 0;
  }
  return sums;
}

function lastResults(entries: readonly ListEntry[]): OverviewView["results"] {
  const finished = entries.filter(({ row }) => row.state === "Succeeded" && (row.job?.results ?? 0) > 0);
  return newest(finished, ({ object }) => object.status?.completionTime ?? "").map(({ row, object }) => ({
    row,
    results: resultsOf(row.kind, object),
  }));
}
