import { type BillReport, type BillReportStatus, billReportSpecSchema } from "../../../src/api/v1alpha1/bill-report.ts";
import { PENDING_STATUS } from "../../../src/api/v1alpha1/meta.ts";
import { type ExportEnd, type ReportOutcome, statusOf } from "../../../src/controllers/billing/report/status.ts";
import { createTally } from "../../../src/provider/money/tally.ts";
import { billOf } from "../bills.ts";
import { START } from "../fake-clock.ts";
import { conditionsOf } from "../kstatus.ts";
import { manifest } from "../manifests.ts";
import { storedMeta } from "../stored-meta.ts";

export function readBills(
  bills: Record<string, unknown>[],
  exported: ExportEnd = { kind: "NotWanted" },
): ReportOutcome {
  const tally = createTally();
  for (const bill of bills) tally.add(billOf(bill));
  return { kind: "Read", range: { startTime: 1_767_225_600, endTime: 1_767_312_000 }, tally, final: false, exported };
}
const good = { amount: "20000", payAmount: "20000" };
const written: ExportEnd = {
  kind: "Written",
  export: { configMap: "bills", format: "CSV", bytes: 9 },
};
const refused: ExportEnd = { kind: "Refused", reason: "ExportTooLarge", message: "" };

/** A report after an outcome. */
export function billReportAfter(
  before: BillReportStatus | undefined,
  outcome: ReportOutcome,
): BillReport & { status: BillReportStatus } {
  const report: BillReport = {
    apiVersion: "mooring.dev/v1alpha1",
    kind: "BillReport",
    metadata: storedMeta({ name: "month" }),
    spec: billReportSpecSchema.parse(manifest("bill").spec),
    ...(before === undefined ? {} : { status: before }),
  };
  return { ...report, status: statusOf(report, outcome, { account: undefined, handledRequest: undefined }, START) };
}

const known = billReportAfter(PENDING_STATUS, readBills([good])).status;
const stalledBefore: BillReportStatus = {
  ...known,
  conditions: conditionsOf("Stalled=True/InvalidSpec", known.conditions),
};

type BillRow = [name: string, before: BillReportStatus, outcome: ReportOutcome, shows: string];

/** Every state of a report, with what `shows` tells of it. */
export const BILL_STATES: BillRow[] = [
  ["that was read", PENDING_STATUS, readBills([good]), "Current: Ready=True/Reported"],
  ["that is new enough", known, { kind: "Current" }, "Current: Ready=True/Reported"],
  ["that was mended", stalledBefore, readBills([good]), "Current: Ready=True/Reported"],
  [
    "with a bill that cannot be read",
    PENDING_STATUS,
    readBills([{ amount: "much" }]),
    "InProgress: Ready=False/BillsUnreadable",
  ],
  [
    "that was written where it is wanted",
    PENDING_STATUS,
    readBills([good], written),
    "Current: Exported=True/Exported Ready=True/Reported",
  ],
  [
    "that cannot be written",
    PENDING_STATUS,
    readBills([good], refused),
    "Failed: Exported=False/ExportTooLarge Ready=False/ExportTooLarge Stalled=True/ExportTooLarge",
  ],
  [
    "that waits before its first read",
    PENDING_STATUS,
    { kind: "Waiting", reason: "RateLimited", message: "" },
    "InProgress: Ready=False/RateLimited Reconciling=True/RateLimited",
  ],
  [
    "that waits to be read again",
    known,
    { kind: "Waiting", reason: "Unreachable", message: "" },
    "InProgress: Ready=Unknown/Unreachable Reconciling=True/Unreachable",
  ],
  [
    "whose spec asks for too much",
    known,
    { kind: "Stalled", reason: "InvalidSpec", message: "" },
    "Failed: Ready=False/InvalidSpec Stalled=True/InvalidSpec",
  ],
];
