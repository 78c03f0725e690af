import { parseDuration } from "../../../api/schema/duration.ts";
import type { BillReport, BillReportStatus } from "../../../api/v1alpha1/bill-report.ts";
import { getCondition } from "../../../api/v1alpha1/conditions.ts";
import type { Reason } from "../../../api/v1alpha1/reasons.ts";
import { ArtifactError } from "../../../artifacts/errors.ts";
import { rfc3339 } from "../../../base/clock.ts";
import { isGivenUp, ServiceError } from "../../../provider/errors.ts";
import { BillsTooLargeError } from "../../../provider/money/bill-reader.ts";
import { type TimeZone, timeZone } from "../../../provider/money/time-zone.ts";
import type { StoreRegistry } from "../../artifact-store/registry.ts";
import type { ControllerDeps } from "../../controller-deps.ts";
import { verdictOf } from "../../verdict.ts";
import { dueTime, reportPeriod } from "./period.ts";
import { readReport } from "./read.ts";
import type { ReportSource } from "./source.ts";
import type { ReportOutcome } from "./status.ts";

export type ReportStep = {
  outcome: ReportOutcome;
  account?: BillReportStatus["account"];
  keyIDs?: readonly string[] | undefined;
};

type RefreshDeps = { shared: ControllerDeps; stores: Pick<StoreRegistry, "resolve"> };

/** How often a Stalled report is checked again. */
const STALLED_MS = 5 * 60_000;
const MIN_REFRESH_MS = 1_000;
const DAY_MS = 86_400_000;

/** Reads the bills when they are due. `known`: the status shows the report of this spec and source. */
export async function refresh(
  { shared, stores }: RefreshDeps,
  report: BillReport,
  { source, known }: { source: ReportSource; known: boolean },
  signal: AbortSignal,
): Promise<ReportStep> {
  const { clock } = shared;
  const { spec, status } = report;
  const { account } = source;
  const now = clock.now();
  const intervalMs = Math.max(MIN_REFRESH_MS, parseDuration(spec.refreshInterval));
  const { timeZone: name, settleMs } = account.money.settings();
  let zone: TimeZone;
  try {
    zone = timeZone(name);
  } catch (error) {
    return stalled("AccountNotReady", `${account.key}: billing.timeZone ${String(error).replace(/^Error: /, "")}`);
  }
  const period = reportPeriod(spec, zone, settleMs, now);
  if (period.kind === "Refused") return stalled("OutOfRange", period.message);
  if (period.kind === "NotBegun") return notBegun(period.startTime * 1000, now);
  const { output } = spec;
  const store = output && stores.resolve(report.metadata.namespace, output.storeRef);
  if (store?.kind === "Checking") {
    return { outcome: { kind: "Waiting", reason: "Pending", message: "the ArtifactStore is being checked" } };
  }
  const storeCameBack =
    store?.kind === "Usable" && getCondition(status?.conditions, "Exported")?.reason === "StoreNotReady";
  const fresh = known && !storeCameBack ? status : undefined;
  const dueMs = dueTime(fresh, period, intervalMs) ?? now;
  if (dueMs > now) return { outcome: { kind: "Current", againMs: Math.min(dueMs - now, DAY_MS) } };
  try {
    const { tally, exported, split } = await readReport(shared, {
      report,
      source,
      zone,
      range: period.range,
      store,
      now,
      signal,
    });
    const settled = period.kind === "Over" && now >= period.finalFrom * 1000 && exported.kind !== "Refused";
    const final = settled && period.movesAt === undefined;
    const hidesBills = source.visibility === "OwnShare";
    const outcome: ReportOutcome = { kind: "Read", range: period.range, tally, final, exported, split, hidesBills };
    if (final) return { outcome };
    return { outcome: { ...outcome, againMs: settled ? DAY_MS : intervalMs } };
  } catch (error) {
    if (signal.aborted) throw error;
    return failed(error);
  }
}

export function stalled(reason: Reason, message: string): ReportStep {
  return { outcome: { kind: "Stalled", reason, message, againMs: STALLED_MS } };
}

function notBegun(startMs: number, now: number): ReportStep {
  const againMs = Math.max(MIN_REFRESH_MS, Math.min(startMs - now, DAY_MS));
  const message = `the period begins at ${rfc3339(startMs)}`;
  return { outcome: { kind: "Waiting", reason: "NotBegun", message, againMs } };
}

function failed(error: unknown): ReportStep {
  if (error instanceof ArtifactError && !error.retryable) return stalled("StoreNotReady", error.message);
  if (error instanceof BillsTooLargeError) return stalled("BillsTooLarge", error.message);
  // Not every kind of credential may read bills (interface: Authentication), so the account itself is not held for it.
  if (error instanceof ServiceError && (error.kind === "Unauthorized" || error.status === 403)) {
    return stalled("Unauthorized", `${error.message}: the key may not read bills; use one that may`);
  }
  if (isGivenUp(error)) throw error;
  const verdict = verdictOf(error);
  if (verdict.kind === "Stalled" || verdict.kind === "Failed") return stalled(verdict.reason, verdict.message);
  if (verdict.kind === "Done") throw error;
  // What an unexpected store error means for a report: it is retried, whatever the kind of store.
  return {
    outcome: verdict.kind === "Retry" && error instanceof ArtifactError ? { ...verdict, reason: "Retrying" } : verdict,
  };
}
