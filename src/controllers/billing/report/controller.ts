import { specProblem } from "../../../api/manifest/spec-problem.ts";
import { parseDuration } from "../../../api/schema/duration.ts";
import type { BillFormat, BillReport, BillReportStatus } from "../../../api/v1alpha1/bill-report.ts";
import { getCondition } from "../../../api/v1alpha1/conditions.ts";
import type { Reason } from "../../../api/v1alpha1/reasons.ts";
import { ArtifactError } from "../../../artifacts/errors.ts";
import { isGivenUp, ServiceError } from "../../../provider/errors.ts";
import { BillsTooLargeError } from "../../../provider/money/bill-reader.ts";
import type { TimeRange } from "../../../provider/money/ranges.ts";
import { createTally } from "../../../provider/money/tally.ts";
import { type TimeZone, timeZone } from "../../../provider/money/time-zone.ts";
import type { Reconcile, Result } from "../../../runtime/controller.ts";
import { accountToUse, boundBaseURL } from "../../account/binding.ts";
import { accountMismatch } from "../../account/mismatch.ts";
import { LABELS_AGAIN_MS } from "../../account/registry.ts";
import type { ResolvedStore, StoreRegistry } from "../../artifact-store/registry.ts";
import type { ControllerDeps, Kind } from "../../controller-deps.ts";
import { createReconciler } from "../../reconciler.ts";
import { announceStall, requeueOf } from "../../report.ts";
import { verdictOf } from "../../verdict.ts";
import { openSplit, readNamespaceCreated } from "../open-split.ts";
import type { Split } from "../split.ts";
import { exportToConfigMap, exportToStore } from "./export.ts";
import { fileOf, ofKeys, shownPeriod, shownTotals, splitting, tallied } from "./file.ts";
import { datesIn, dueTime, reportPeriod } from "./period.ts";
import { type ReportSource, showsSource, sourceOf } from "./source.ts";
import { splitFile, splitView } from "./split-view.ts";
import { type ExportEnd, problemOf, type ReportOutcome, statusOf } from "./status.ts";

type ReportStep = {
  outcome: ReportOutcome;
  account?: BillReportStatus["account"];
  keyIDs?: readonly string[] | undefined;
};

type ReadOptions = {
  report: BillReport;
  source: ReportSource;
  zone: TimeZone;
  range: TimeRange;
  /** Of `spec.output`. */
  store: Exclude<ResolvedStore, { kind: "Checking" }> | undefined;
  now: number;
  signal: AbortSignal;
};

/** How often a Stalled report is checked again. */
const STALLED_MS = 5 * 60_000;
const MIN_REFRESH_MS = 1_000;
/** How often a final report of a ClusterAccount is checked: nobody tells when a namespace's labels change. */
const LABELS_CHANGE_MS = 5 * 60_000;

/** Reads the bills of a period, sums them, writes them where the spec wants them, and again until they are final. */
export function createBillReportReconciler(
  shared: ControllerDeps,
  kind: Kind<BillReport>,
  stores: Pick<StoreRegistry, "resolve">,
): Reconcile {
  const { clock } = shared;

  return createReconciler<BillReport>({
    kind,
    async reconcile(report, request, { signal }) {
      const sameSpec = report.status?.observedGeneration === report.metadata.generation;
      const step = await observe(report, sameSpec && request === undefined, signal);
      if (step === undefined) return recheckOf(report.status);
      const { outcome, account, keyIDs } = step;
      const handled = outcome.kind === "Waiting" || outcome.kind === "Retry" ? undefined : request;
      const status = statusOf(report, outcome, { account, keyIDs, handledRequest: handled }, clock.now());
      const after = await kind.patchStatus(report, status, signal);
      announceStall(shared.recorder, report, problemOf(outcome), "Report");
      const isDone = outcome.kind === "Read" || outcome.kind === "Current";
      return requeueOf(isDone ? { ...outcome, kind: "Done" } : outcome) ?? recheckOf(after.status);
    },
  });

  /** Undefined: nothing changes. The report is final, or is reconciled again when the account was checked. */
  async function observe(report: BillReport, current: boolean, signal: AbortSignal): Promise<ReportStep | undefined> {
    const problem = specProblem(kind.resource, report.spec);
    if (problem !== undefined) return stalled("InvalidSpec", problem);
    const final = current && report.status?.final === true;
    const resolved = await shared.accounts.resolve(accountToUse(report), report.metadata.namespace);
    if (resolved.kind === "Checking") return undefined;
    if (resolved.kind === "Held") {
      if (final) return undefined;
      const { reason, message, againMs } = resolved;
      return { outcome: { kind: "Waiting", reason, message, ...(againMs === undefined ? {} : { againMs }) } };
    }
    const { account, ref } = resolved;
    const found = await sourceOf(report, account);
    if (found.kind === "Refused") return notReportable(found.message);
    const { keyIDs } = found.source;
    const sameSource = showsSource(report, found.source);
    if (final && sameSource) return undefined;
    const { baseURL } = account;
    const mismatch = accountMismatch(boundBaseURL(report, account.key), account);
    if (mismatch !== undefined) return stalled(mismatch.reason, mismatch.message);
    const step = await refresh(report, found.source, current && sameSource, signal);
    return { ...step, account: { ...ref, baseURL }, keyIDs };
  }

  async function refresh(
    report: BillReport,
    source: ReportSource,
    known: boolean,
    signal: AbortSignal,
  ): Promise<ReportStep> {
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
    if (period.kind === "NotBegun") {
      const from = shownPeriod({ startTime: period.startTime, endTime: period.startTime }).startTime;
      const againMs = Math.max(MIN_REFRESH_MS, Math.min(period.startTime * 1000 - now, DAY_MS));
      const outcome: ReportOutcome = {
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
    const fresh = known && !storeCameBack ? status : undefined;
    const dueMs = dueTime(fresh, period, intervalMs) ?? now;
    if (dueMs > now) return { outcome: { kind: "Current", againMs: Math.min(dueMs - now, DAY_MS) } };
    try {
      const { tally, exported, split } = await read({ report, source, zone, range: period.range, store, now, signal });
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

  async function read({ report, source, zone, range, store, now, signal }: ReadOptions) {
    const { cycle, category, productName, exportTo, output } = report.spec;
    const { money } = source.account;
    const tally = createTally(datesIn(zone, range));
    const all = money.bills({
      query: { cycle, category, productName },
      period: range,
      zone,
      closedBefore: (now - money.settings().settleMs) / 1000,
      signal,
    });
    const counted = tallied(ofKeys(all, source.keyIDs), tally);
    const { splitBy } = report.spec;
    const split = splitBy === undefined ? undefined : await splitOf({ report, source, zone, range, signal });
    const bills = split === undefined ? counted : splitting(counted, split);
    const view = () => split && splitBy && splitView(split.result(), splitBy, viewerOf(report, source));
    const contentOf = (format: BillFormat) => {
      const sums = () => ({ period: shownPeriod(range), ...shownTotals(tally) });
      if (split === undefined) return fileOf(format, bills, sums);
      const facts = source.visibility === "OwnShare" ? () => ({ period: shownPeriod(range) }) : sums;
      return splitFile(format, bills, view, facts);
    };
    let exported: ExportEnd = { kind: "NotWanted" };
    if (exportTo !== undefined) {
      const { configMap } = exportTo;
      const content = contentOf(configMap.format);
      exported = await exportToConfigMap(shared.kube, { report, content, signal }, configMap);
    } else if (output !== undefined && store?.kind === "Usable") {
      const content = contentOf(output.format);
      exported = await exportToStore(store.store, { report, content, signal }, output);
    } else {
      for await (const _ of bills);
      if (store?.kind === "Held") exported = { kind: "Refused", reason: store.reason, message: store.message };
    }
    return { tally, exported, split: view() };
  }

  function splitOf({ source, zone, range, signal }: Omit<ReadOptions, "store" | "now">): Promise<Split> {
    const { key, money } = source.account;
    const sources = { ledger: shared.ledger, namespaceCreated: readNamespaceCreated(shared.kube) };
    return openSplit({ account: key, settings: money.settings(), zone, range }, sources, signal);
  }
}

const DAY_MS = 86_400_000;

const viewerOf = ({ metadata: { namespace } }: BillReport, { visibility }: ReportSource) => ({ visibility, namespace });

function recheckOf(status: BillReportStatus | undefined): Result {
  return status?.account?.kind === "ClusterAccount" ? { requeueAfterMs: LABELS_CHANGE_MS } : undefined;
}

function stalled(reason: Reason, message: string): ReportStep {
  return { outcome: { kind: "Stalled", reason, message, againMs: STALLED_MS } };
}

/** The account lets the report see nothing. */
function notReportable(message: string): ReportStep {
  const outcome: ReportOutcome = {
    kind: "Stalled",
    forgets: true,
    reason: "NamespaceNotAllowed",
    message,
    againMs: LABELS_AGAIN_MS,
  };
  return { outcome };
}

function failed(error: unknown): ReportStep {
  if (error instanceof ArtifactError && !error.retryable) return stalled("StoreNotReady", error.message);
  if (error instanceof BillsTooLargeError) return stalled("BillsTooLarge", error.message);
  // Not every kind of credential may read bills (interface: Authentication), so the account itself is not held for it.
  if (error instanceof ServiceError && (error.kind === "Unauthorized" || error.status === 403)) {
    return stalled("Unauthorized", `${error.message}: the key may not read bills; use one that may`);
  }
  if (error instanceof ServiceError && isGivenUp(error)) throw error;
  const verdict = verdictOf(error);
  if (verdict.kind === "Stalled" || verdict.kind === "Failed") return stalled(verdict.reason, verdict.message);
  if (verdict.kind === "Done") throw error;
  // What an unexpected store error means for a report: it is retried, whatever the kind of store.
  return {
    outcome: verdict.kind === "Retry" && error instanceof ArtifactError ? { ...verdict, reason: "Retrying" } : verdict,
  };
}
