import { type BillReport, type BillReportStatus, DATE_ROWS, TOP_ROWS } from "../../../api/v1alpha1/bill-report.ts";
import { type ConditionUpdate, getCondition, removeCondition } from "../../../api/v1alpha1/conditions.ts";
import type { Reason } from "../../../api/v1alpha1/reasons.ts";
import { rfc3339 } from "../../../base/clock.ts";
import { formatYuan, parseYuan } from "../../../base/money.ts";
import type { TimeRange } from "../../../provider/money/ranges.ts";
import type { Tally } from "../../../provider/money/tally.ts";
import { conditionsOf, mergeConditions, stalledCondition } from "../../report.ts";
import type { Cause, Verdict } from "../../verdict.ts";
import { shownPeriod, shownSums, shownTables } from "./file.ts";
import { type SplitView, statusSplit } from "./split-view.ts";

/** How a reconcile ended. */
export type ReportOutcome =
  /** The bills were read now. */
  | {
      kind: "Read";
      range: TimeRange;
      tally: Tally;
      final: boolean;
      exported: ExportEnd;
      split?: SplitView | undefined;
      /** The report may show its split only. */
      hidesBills?: boolean;
      againMs?: number;
    }
  /** The ClusterAccount does not let the namespace see its bills (any more): the results are removed from the status. */
  | ({ kind: "Stalled"; forgets: true; againMs: number } & Cause)
  /** The bills in the status are recent enough. */
  | { kind: "Current"; againMs?: number }
  | Extract<Verdict, { kind: "Waiting" | "Stalled" | "Retry" }>;

export type ExportEnd =
  | { kind: "NotWanted" }
  | { kind: "Written"; export: NonNullable<BillReportStatus["export"]> }
  | ({ kind: "Refused" } & Cause);

/** The parts of the status that do not follow from the outcome. */
export type ReportFacts = {
  account: BillReportStatus["account"];
  /** The API keys that were read; undefined: all. */
  keyIDs?: readonly string[] | undefined;
  handledRequest: string | undefined;
};

/** The whole status after a reconcile. Pure; `now` in ms since the epoch. */
export function statusOf(
  report: BillReport,
  outcome: ReportOutcome,
  { account, keyIDs, handledRequest }: ReportFacts,
  now: number,
): BillReportStatus {
  const previous: BillReportStatus = report.status ?? { conditions: [] };
  const { generation } = report.metadata;
  // Results of another spec do not answer this one.
  const forgets = previous.observedGeneration !== generation || "forgets" in outcome;
  const kept = forgets || outcome.kind === "Read" ? withoutResults(previous) : previous;
  const status: BillReportStatus = {
    ...kept,
    observedGeneration: generation,
    ...(handledRequest === undefined ? {} : { lastHandledReconcileAt: handledRequest }),
    ...(account === undefined ? {} : { account }),
    ...(outcome.kind === "Read" ? results(outcome, now) : {}),
  };
  const exportRemoved = outcome.kind === "Read" && outcome.exported.kind === "NotWanted";
  if (exportRemoved) delete status.export;
  if (outcome.kind === "Read" && keyIDs !== undefined) status.keyIDs = [...keyIDs];
  const before = exportRemoved ? removeCondition(status.conditions, "Exported") : status.conditions;
  status.conditions = mergeConditions(before, updatesOf(status, outcome), report.metadata, now);
  return status;
}

/** The fields that a read of the bills sets. */
const RESULTS: readonly string[] = [
  ...["period", "totals", "byProduct", "byCategory", "byKey", "byDate", "records", "unreadable", "split", "asOf"],
  ...["final", "keyIDs"],
];

function withoutResults({ conditions, ...status }: BillReportStatus): BillReportStatus {
  return { conditions, ...Object.fromEntries(Object.entries(status).filter(([field]) => !RESULTS.includes(field))) };
}

function results(outcome: Extract<ReportOutcome, { kind: "Read" }>, now: number): Partial<BillReportStatus> {
  const { tally, range, exported, final, split } = outcome;
  const shared = {
    period: shownPeriod(range),
    asOf: rfc3339(now),
    ...(split === undefined ? {} : { split: statusSplit(split) }),
    ...(final ? { final } : {}),
    ...(exported.kind === "Written" ? { export: exported.export } : {}),
  };
  if (outcome.hidesBills === true) return shared;
  const { records, ...totals } = shownSums(tally.totals());
  const { byProduct, byCategory, byKey } = shownTables(tally);
  const byDate = tally.byDate().map((row) => ({ date: row.date, ...shownSums(row) }));
  return {
    ...shared,
    totals,
    byProduct: byProduct.slice(0, TOP_ROWS),
    byCategory: byCategory.slice(0, TOP_ROWS),
    byKey: byKey.slice(0, TOP_ROWS),
    ...(byDate.length === 0 ? {} : { byDate: byDate.slice(-DATE_ROWS) }),
    records,
    unreadable: tally.unreadable(),
  };
}

function updatesOf(status: BillReportStatus, outcome: ReportOutcome): ConditionUpdate[] {
  switch (outcome.kind) {
    case "Current": {
      const before = getCondition(status.conditions, "Exported");
      const refused =
        before?.status === "False" ? { reason: before.reason as Reason, message: before.message } : undefined;
      return [ready(status), ...(refused === undefined ? [] : [stalledCondition(refused)])];
    }
    case "Read": {
      const { exported } = outcome;
      if (exported.kind === "NotWanted") return [ready(status)];
      if (exported.kind === "Refused") {
        const { reason, message } = exported;
        return [{ type: "Exported", status: "False", reason, message }, stalledCondition(exported)];
      }
      const { configMap, uri, bytes } = exported.export;
      const message = `${bytes} bytes in ${configMap === undefined ? uri : `ConfigMap ${configMap}`}`;
      return [{ type: "Exported", status: "True", reason: "Exported", message }, ready(status)];
    }
    default:
      return conditionsOf(outcome, ready(status), status.asOf === undefined ? "False" : "Unknown");
  }
}

function ready({ unreadable = 0, records = 0, totals, split, final = false }: BillReportStatus): ConditionUpdate {
  if (unreadable > 0) {
    const message = `${unreadable} of ${records} bills have an amount that is not an integer; the totals do not include them: see the export`;
    return { type: "Ready", status: "False", reason: "BillsUnreadable", message };
  }
  const ownShare = totals === undefined && split !== undefined;
  const content = ownShare
    ? `The share of this namespace is ${shareOf(split)} yuan`
    : `${records} bills, ${totals?.amount ?? "0"} yuan`;
  const message = `${content}${final ? "; final" : ""}`;
  return { type: "Ready", status: "True", reason: "Reported", message };
}

function shareOf({ lines, others = "0" }: NonNullable<BillReportStatus["split"]>): string {
  return formatYuan(lines.reduce((sum, { amount }) => sum + parseYuan(amount), parseYuan(others)));
}
