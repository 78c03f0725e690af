import { type BillReport, type BillReportStatus, TOP_ROWS } from "../../api/v1alpha1/bill-report.ts";
import { type ConditionUpdate, getCondition, removeCondition, setConditions } from "../../api/v1alpha1/conditions.ts";
import type { Reason } from "../../api/v1alpha1/reasons.ts";
import { rfc3339 } from "../../clock.ts";
import type { Range } from "../../provider/money/ranges.ts";
import type { Tally } from "../../provider/money/tally.ts";
import { shownPeriod, shownSums, shownTables } from "./file.ts";

type Problem = { reason: Reason; message: string };

/** What a reconcile came to. */
export type Outcome =
  /** The bills were read now. */
  | { kind: "Read"; range: Range; tally: Tally; final: boolean; exported: Exported }
  /** Those in the status are new enough. */
  | { kind: "Current" }
  /** Goes on by itself. */
  | ({ kind: "Waiting" } & Problem)
  /** A person must act. */
  | ({ kind: "Stalled" } & Problem);

export type Exported =
  | { kind: "NotWanted" }
  | { kind: "Written"; export: NonNullable<BillReportStatus["export"]> }
  | ({ kind: "Refused" } & Problem);

/** The whole status after a reconcile. Pure. */
export function statusOf(
  report: BillReport,
  outcome: Outcome,
  account: BillReportStatus["account"],
  handledRequest: string | undefined,
  now: number,
): BillReportStatus {
  const previous: BillReportStatus = report.status ?? { conditions: [] };
  const { generation } = report.metadata;
  // What is there of another spec is no answer to this one.
  const kept = previous.observedGeneration === generation ? previous : withoutResults(previous);
  const status: BillReportStatus = {
    ...kept,
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    ...(handledRequest === undefined ? {} : { lastHandledReconcileAt: handledRequest }),
    ...(account === undefined ? {} : { account }),
    ...(outcome.kind === "Read" ? results(outcome, now) : {}),
  };
  if (outcome.kind === "Read") {
    if (outcome.exported.kind === "NotWanted") delete status.export;
    if (!outcome.final) delete status.final;
  }
  const updates = conditionsOf(status, outcome).map((update) => ({ ...update, observedGeneration: generation }));
  const dropped = ["Reconciling", "Stalled"] as const;
  let conditions = dropped.reduce(
    (list, type) => (updates.some((update) => update.type === type) ? list : removeCondition(list, type)),
    status.conditions,
  );
  if (outcome.kind === "Read" && outcome.exported.kind === "NotWanted")
    conditions = removeCondition(conditions, "Exported");
  status.conditions = setConditions(conditions, updates, rfc3339(now));
  return status;
}

function withoutResults(status: BillReportStatus): BillReportStatus {
  const { period, totals, byProduct, byCategory, byKey, records, unreadable, asOf, final, ...rest } = status;
  return rest;
}

function results(outcome: Extract<Outcome, { kind: "Read" }>, now: number): Partial<BillReportStatus> {
  const { tally, range, exported, final } = outcome;
  const { records, ...totals } = shownSums(tally.totals());
  const { byProduct, byCategory, byKey } = shownTables(tally);
  return {
    period: shownPeriod(range),
    totals,
    byProduct: byProduct.slice(0, TOP_ROWS),
    byCategory: byCategory.slice(0, TOP_ROWS),
    byKey: byKey.slice(0, TOP_ROWS),
    records,
    unreadable: tally.unreadable(),
    asOf: rfc3339(now),
    ...(final ? { final } : {}),
    ...(exported.kind === "Written" ? { export: exported.export } : {}),
  };
}

function conditionsOf(status: BillReportStatus, outcome: Outcome): ConditionUpdate[] {
  switch (outcome.kind) {
    case "Stalled":
      return [{ type: "Stalled", status: "True", reason: outcome.reason, message: outcome.message }];
    case "Waiting": {
      const { reason, message } = outcome;
      const known = status.asOf === undefined ? "False" : "Unknown";
      return [
        { type: "Ready", status: known, reason, message },
        { type: "Reconciling", status: "True", reason, message },
      ];
    }
    case "Current": {
      const before = getCondition(status.conditions, "Exported");
      const refused =
        before?.status === "False" ? { reason: before.reason as Reason, message: before.message } : undefined;
      return [ready(status), ...(refused === undefined ? [] : [stalled(refused)])];
    }
    case "Read": {
      const { exported } = outcome;
      if (exported.kind === "NotWanted") return [ready(status)];
      if (exported.kind === "Refused") {
        const { reason, message } = exported;
        return [{ type: "Exported", status: "False", reason, message }, stalled(exported)];
      }
      const { configMap, uri, bytes } = exported.export;
      const message = `${bytes} bytes in ${configMap === undefined ? uri : `ConfigMap ${configMap}`}`;
      return [{ type: "Exported", status: "True", reason: "Exported", message }, ready(status)];
    }
  }
}

function stalled({ reason, message }: Problem): ConditionUpdate {
  return { type: "Stalled", status: "True", reason, message };
}

function ready({ unreadable = 0, records = 0, totals, final = false }: BillReportStatus): ConditionUpdate {
  if (unreadable > 0) {
    const message = `${unreadable} of ${records} bills have an amount that is no integer, and the sums lack them: see the export`;
    return { type: "Ready", status: "False", reason: "BillsUnreadable", message };
  }
  const message = `${records} bills, ${totals?.amount ?? "0"} yuan${final ? "; final" : ""}`;
  return { type: "Ready", status: "True", reason: "Reported", message };
}
