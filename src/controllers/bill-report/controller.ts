import type { BillReport, BillReportStatus } from "../../api/v1alpha1/bill-report.ts";
import { getCondition } from "../../api/v1alpha1/conditions.ts";
import { parseDuration } from "../../api/v1alpha1/duration.ts";
import { ANNOTATIONS } from "../../api/v1alpha1/meta.ts";
import { ArtifactError } from "../../artifacts/errors.ts";
import { ServiceError } from "../../provider/errors.ts";
import type { Range } from "../../provider/money/ranges.ts";
import { createTally } from "../../provider/money/tally.ts";
import { type TimeZone, timeZone } from "../../provider/money/time-zone.ts";
import type { Reconcile } from "../../runtime/controller.ts";
import type { AccountHandle } from "../account/registry.ts";
import type { ResolvedStore, StoreRegistry } from "../artifact-store/registry.ts";
import { failureOf } from "../service-failure.ts";
import { type Kind, patchStatus, type Shared } from "../shared.ts";
import { exportToConfigMap, exportToStore } from "./export.ts";
import { fileOf, shownPeriod, shownSums, shownTables, tallied } from "./file.ts";
import { reportPeriod } from "./period.ts";
import { type Exported, type Outcome, statusOf } from "./status.ts";

type Step = { outcome: Outcome; requeueAfterMs?: number; error?: unknown };

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

/** What a person has to mend is looked at again this often. */
const STALLED_MS = 5 * 60_000;
const MIN_REFRESH_MS = 1_000;

/** Reads the bills of a period, sums them, writes them where the spec wants them, and again until they are final. */
export function createBillReportReconciler(
  shared: Shared,
  kind: Kind<BillReport>,
  stores: Pick<StoreRegistry, "resolve">,
): Reconcile {
  const { clock } = shared;

  return async ({ key }, { signal }) => {
    const report = kind.store.get(key);
    if (report === undefined || report.metadata.deletionTimestamp !== undefined) return undefined;
    const { annotations, namespace = "", generation } = report.metadata;
    if (annotations?.[ANNOTATIONS.paused] === "true") return undefined;
    const asked = annotations?.[ANNOTATIONS.reconcileRequestedAt] ?? annotations?.[ANNOTATIONS.fluxRequestedAt];
    const request = asked === report.status?.lastHandledReconcileAt ? undefined : asked;
    const sameSpec = report.status?.observedGeneration === generation;
    if (report.status?.final === true && sameSpec && request === undefined) return undefined;

    const resolved = await shared.accounts.resolve(report.spec.accountRef, namespace);
    if (resolved.kind === "Checking") return undefined;
    let account: BillReportStatus["account"];
    let step: Step;
    if (resolved.kind === "Held") {
      const { reason, message } = resolved;
      step = { outcome: { kind: "Waiting", reason, message } };
    } else {
      const { baseURL } = resolved.account;
      const bound = report.status?.account?.baseURL ?? baseURL;
      if (bound === baseURL) account = { ...resolved.ref, baseURL };
      step =
        bound === baseURL
          ? await refresh(report, resolved.account, sameSpec && request === undefined, signal)
          : stalled(
              "AccountMismatch",
              `bound to ${bound}, but the account now has base URL ${baseURL}: nothing is asked; restore the account's baseURL, or recreate this object`,
            );
    }
    const { outcome } = step;
    const handled = outcome.kind === "Read" || outcome.kind === "Stalled" ? request : undefined;
    await patchStatus(shared, kind, report, statusOf(report, outcome, account, handled, clock.now()), signal);
    announce(report, outcome);
    if (step.error !== undefined) throw step.error;
    return step.requeueAfterMs === undefined ? undefined : { requeueAfterMs: step.requeueAfterMs };
  };

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
      const outcome: Outcome = { kind: "Waiting", reason: "NotBegun", message: `the period begins at ${from}` };
      return { outcome, requeueAfterMs: Math.max(MIN_REFRESH_MS, Math.min(period.startTime * 1000 - now, DAY_MS)) };
    }
    const { output } = spec;
    const store = output && stores.resolve(report.metadata.namespace ?? "", output.storeRef);
    if (store?.kind === "Checking") {
      return { outcome: { kind: "Waiting", reason: "Pending", message: "the ArtifactStore is being checked" } };
    }
    const storeCameBack =
      store?.kind === "Usable" && getCondition(status?.conditions, "Exported")?.reason === "StoreNotReady";
    const dueMs = status?.asOf === undefined || !known || storeCameBack ? now : Date.parse(status.asOf) + intervalMs;
    if (dueMs > now) return { outcome: { kind: "Current" }, requeueAfterMs: dueMs - now };
    try {
      const { tally, exported } = await read({ report, account, zone, range: period.range, store, now, signal });
      const settled = period.kind === "Over" && now >= period.finalFrom * 1000;
      const final = settled && exported.kind !== "Refused";
      const outcome: Outcome = { kind: "Read", range: period.range, tally, final, exported };
      return final ? { outcome } : { outcome, requeueAfterMs: intervalMs };
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
    const summary = () => ({
      period: shownPeriod(range),
      totals: shownSums(tally.totals()),
      unreadable: tally.unreadable(),
      ...shownTables(tally),
    });
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

  /** Said once, when it begins. */
  function announce(report: BillReport, outcome: Outcome): void {
    const problem =
      outcome.kind === "Stalled"
        ? outcome
        : outcome.kind === "Read" && outcome.exported.kind === "Refused"
          ? outcome.exported
          : undefined;
    if (problem === undefined) return;
    const before = report.status?.conditions.find(({ type }) => type === "Stalled");
    if (before?.reason === problem.reason && before.message === problem.message) return;
    shared.recorder.event(report, "Warning", problem.reason, "Report", problem.message);
  }
}

const DAY_MS = 86_400_000;

function stalled(reason: Extract<Outcome, { kind: "Stalled" }>["reason"], message: string): Step {
  return { outcome: { kind: "Stalled", reason, message }, requeueAfterMs: STALLED_MS };
}

function failed(error: unknown): Step {
  if (error instanceof ArtifactError && !error.retryable) return stalled("StoreNotReady", error.message);
  if (!(error instanceof ServiceError)) {
    const message = error instanceof Error ? error.message : String(error);
    return { outcome: { kind: "Waiting", reason: "Retrying", message }, error };
  }
  // Not every kind of credential may read bills (interface: Authentication), so the account itself is not held for it.
  if (error.kind === "Unauthorized" || error.status === 403) return notAllowed(error);
  const failure = failureOf(error);
  switch (failure.kind) {
    case "AccountHeld":
      return notAllowed(error);
    case "Stalled":
      return stalled(failure.reason, failure.message);
    case "Wait": {
      const { reason, message, retryAfterMs } = failure;
      return { outcome: { kind: "Waiting", reason, message }, requeueAfterMs: retryAfterMs };
    }
    case "Retry":
      return { outcome: { kind: "Waiting", reason: failure.reason, message: failure.message }, error };
  }
}

function notAllowed({ message }: ServiceError): Step {
  return stalled("Unauthorized", `${message}: the key may not read bills; use one that may`);
}
