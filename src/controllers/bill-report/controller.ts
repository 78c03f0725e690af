import type { BillReport, BillReportStatus } from "../../api/v1alpha1/bill-report.ts";
import { getCondition } from "../../api/v1alpha1/conditions.ts";
import { parseDuration } from "../../api/v1alpha1/duration.ts";
import type { Reason } from "../../api/v1alpha1/reasons.ts";
import { ArtifactError } from "../../artifacts/errors.ts";
import { ServiceError } from "../../provider/errors.ts";
import type { Range } from "../../provider/money/ranges.ts";
import { createTally } from "../../provider/money/tally.ts";
import { type TimeZone, timeZone } from "../../provider/money/time-zone.ts";
import type { Reconcile } from "../../runtime/controller.ts";
import type { AccountHandle } from "../account/registry.ts";
import type { ResolvedStore, StoreRegistry } from "../artifact-store/registry.ts";
import { createReconciler } from "../reconciler.ts";
import { announceStall, requeueOf } from "../report.ts";
import { type Kind, patchStatus, type Shared } from "../shared.ts";
import { verdictOf } from "../verdict.ts";
import { exportToConfigMap, exportToStore } from "./export.ts";
import { fileOf, shownPeriod, shownTotals, tallied } from "./file.ts";
import { reportPeriod } from "./period.ts";
import { type Exported, type Outcome, problemOf, statusOf } from "./status.ts";

type Step = { outcome: Outcome; account?: BillReportStatus["account"] };

type ReadOptions = {
  report: BillReport;
  account: AccountHandle;
  zone: TimeZone;
  range: Range;
  /** Of `spec.output`. */
  store: Exclude<ResolvedStore, { kind: "Checking" }> | undefined;
  now: number;
  signal: AbortSignal;
};

/** How often a Stalled report is checked again. */
const STALLED_MS = 5 * 60_000;
const MIN_REFRESH_MS = 1_000;

/** Reads the bills of a period, sums them, writes them where the spec wants them, and again until they are final. */
export function createBillReportReconciler(
  shared: Shared,
  kind: Kind<BillReport>,
  stores: Pick<StoreRegistry, "resolve">,
): Reconcile {
  const { clock } = shared;

  return createReconciler<BillReport>({
    kind,
    async reconcile(report, request, { signal }) {
      const sameSpec = report.status?.observedGeneration === report.metadata.generation;
      if (report.status?.final === true && sameSpec && request === undefined) return undefined;
      const step = await observe(report, sameSpec && request === undefined, signal);
      if (step === undefined) return undefined;
      const { outcome, account } = step;
      const handled = outcome.kind === "Waiting" || outcome.kind === "Retry" ? undefined : request;
      const status = statusOf(report, outcome, { account, handledRequest: handled }, clock.now());
      await patchStatus(shared, kind, report, status, signal);
      announceStall(shared.recorder, report, problemOf(outcome), "Report");
      return outcome.kind === "Read" || outcome.kind === "Current"
        ? requeueOf({ ...outcome, kind: "Done" })
        : requeueOf(outcome);
    },
  });

  /** Undefined: the account is being checked; the report is reconciled again when that ends. */
  async function observe(report: BillReport, current: boolean, signal: AbortSignal): Promise<Step | undefined> {
    const resolved = await shared.accounts.resolve(report.spec.accountRef, report.metadata.namespace);
    if (resolved.kind === "Checking") return undefined;
    if (resolved.kind === "Held") {
      const { reason, message, againMs } = resolved;
      return { outcome: { kind: "Waiting", reason, message, ...(againMs === undefined ? {} : { againMs }) } };
    }
    const { baseURL } = resolved.account;
    const bound = report.status?.account?.baseURL ?? baseURL;
    if (bound !== baseURL) {
      const message = `bound to ${bound}, but the account now has base URL ${baseURL}: no request is sent; restore the account's baseURL, or recreate this object`;
      return stalled("AccountMismatch", message);
    }
    return { ...(await refresh(report, resolved.account, current, signal)), account: { ...resolved.ref, baseURL } };
  }

  async function refresh(
    report: BillReport,
    account: AccountHandle,
    known: boolean,
    signal: AbortSignal,
  ): Promise<Step> {
    const { spec, status } = report;
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
    if (period.kind === "NotBegun") {
      const from = shownPeriod({ startTime: period.startTime, endTime: period.startTime }).startTime;
      const againMs = Math.max(MIN_REFRESH_MS, Math.min(period.startTime * 1000 - now, DAY_MS));
      const outcome: Outcome = {
        kind: "Waiting",
        reason: "NotBegun",
        message: `the period begins at ${from}`,
        againMs,
      };
      return { outcome };
    }
    const { output } = spec;
    const store = output && stores.resolve(report.metadata.namespace, output.storeRef);
    if (store?.kind === "Checking") {
      return { outcome: { kind: "Waiting", reason: "Pending", message: "the ArtifactStore is being checked" } };
    }
    const storeCameBack =
      store?.kind === "Usable" && getCondition(status?.conditions, "Exported")?.reason === "StoreNotReady";
    const dueMs = status?.asOf === undefined || !known || storeCameBack ? now : Date.parse(status.asOf) + intervalMs;
    if (dueMs > now) return { outcome: { kind: "Current", againMs: dueMs - now } };
    try {
      const { tally, exported } = await read({ report, account, zone, range: period.range, store, now, signal });
      const settled = period.kind === "Over" && now >= period.finalFrom * 1000;
      const final = settled && exported.kind !== "Refused";
      const outcome: Outcome = { kind: "Read", range: period.range, tally, final, exported };
      return { outcome: final ? outcome : { ...outcome, againMs: intervalMs } };
    } catch (error) {
      if (signal.aborted) throw error;
      return failed(error);
    }
  }

  async function read({ report, account, zone, range, store, now, signal }: ReadOptions) {
    const { cycle, category, productName, exportTo, output } = report.spec;
    const { money } = account;
    const tally = createTally();
    const bills = tallied(
      money.bills({
        query: { cycle, category, productName },
        period: range,
        zone,
        closedBefore: (now - money.settings().settleMs) / 1000,
        signal,
      }),
      tally,
    );
    const summary = () => ({ period: shownPeriod(range), ...shownTotals(tally) });
    let exported: Exported = { kind: "NotWanted" };
    if (exportTo !== undefined) {
      const { configMap } = exportTo;
      exported = await exportToConfigMap(shared, report, configMap, fileOf(configMap.format, bills, summary), signal);
    } else if (output !== undefined && store?.kind === "Usable") {
      exported = await exportToStore(store.store, report, output, fileOf(output.format, bills, summary), signal);
    } else {
      for await (const _ of bills);
      if (store?.kind === "Held") exported = { kind: "Refused", reason: store.reason, message: store.message };
    }
    return { tally, exported };
  }
}

const DAY_MS = 86_400_000;

function stalled(reason: Reason, message: string): Step {
  return { outcome: { kind: "Stalled", reason, message, againMs: STALLED_MS } };
}

function failed(error: unknown): Step {
  if (error instanceof ArtifactError && !error.retryable) return stalled("StoreNotReady", error.message);
  // Not every kind of credential may read bills (interface: Authentication), so the account itself is not held for it.
  if (error instanceof ServiceError && (error.kind === "Unauthorized" || error.status === 403)) {
    return stalled("Unauthorized", `${error.message}: the key may not read bills; use one that may`);
  }
  const verdict = verdictOf(error);
  if (verdict.kind === "Stalled" || verdict.kind === "Failed") return stalled(verdict.reason, verdict.message);
  if (verdict.kind === "Done") throw error;
  // What an unexpected store error means for a report: it is retried, whatever the kind of store.
  return {
    outcome: verdict.kind === "Retry" && error instanceof ArtifactError ? { ...verdict, reason: "Retrying" } : verdict,
  };
}
