import { specProblem } from "../../../api/manifest/spec-problem.ts";
import type { BillReport, BillReportStatus } from "../../../api/v1alpha1/bill-report.ts";
import type { Reconcile, Result } from "../../../runtime/controller.ts";
import { accountToUse, boundBaseURL } from "../../account/binding.ts";
import { accountMismatch } from "../../account/mismatch.ts";
import { LABELS_AGAIN_MS } from "../../account/registry.ts";
import type { StoreRegistry } from "../../artifact-store/registry.ts";
import type { ControllerDeps, Kind } from "../../controller-deps.ts";
import { createReconciler } from "../../reconciler.ts";
import { announceStall, requeueOf } from "../../report.ts";
import { heldVerdict } from "../../verdict.ts";
import { type ReportStep, refresh, stalled } from "./refresh.ts";
import { showsSource, sourceOf } from "./source.ts";
import { type ReportOutcome, statusOf } from "./status.ts";

/** How often a final report of a ClusterAccount is checked: no watch shows changed labels of a namespace. */
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
    clock,
    async reconcile(report, request, { signal }) {
      const sameSpec = report.status?.observedGeneration === report.metadata.generation;
      const step = await observe(report, sameSpec && request === undefined, signal);
      if (step === undefined) return recheckOf(report.status);
      const { outcome, account, keyIDs } = step;
      const handled = outcome.kind === "Waiting" || outcome.kind === "Retry" ? undefined : request;
      const status = statusOf(report, outcome, { account, keyIDs, handledRequest: handled }, clock.now());
      const after = await kind.patchStatus(report, status, signal);
      announceStall(shared.recorder, report, status, "Report");
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
      return final ? undefined : { outcome: heldVerdict(resolved) };
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
    const step = await refresh(
      { shared, stores },
      report,
      { source: found.source, known: current && sameSource },
      signal,
    );
    return { ...step, account: { ...ref, baseURL }, keyIDs };
  }
}

function recheckOf(status: BillReportStatus | undefined): Result {
  return status?.account?.kind === "ClusterAccount" ? { requeueAfterMs: LABELS_CHANGE_MS } : undefined;
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
