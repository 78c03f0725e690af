import type { BillFormat, BillReport } from "../../../api/v1alpha1/bill-report.ts";
import type { TimeRange } from "../../../provider/money/ranges.ts";
import { createTally } from "../../../provider/money/tally.ts";
import type { TimeZone } from "../../../provider/money/time-zone.ts";
import type { ResolvedStore } from "../../artifact-store/registry.ts";
import type { ControllerDeps } from "../../controller-deps.ts";
import { openSplit, readNamespaceCreated } from "../open-split.ts";
import { exportToConfigMap, exportToStore } from "./export.ts";
import { counted, fileOf, ofKeys, shownPeriod, shownTotals } from "./file.ts";
import { datesIn } from "./period.ts";
import type { ReportSource } from "./source.ts";
import { splitFile, splitView } from "./split-view.ts";
import type { ExportEnd } from "./status.ts";

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

/** Reads the bills once: sums them, splits them and writes them where the spec wants them. @throws what reading or writing throws */
export async function readReport(shared: Pick<ControllerDeps, "kube" | "ledger">, options: ReadOptions) {
  const { report, source, zone, range, store, now, signal } = options;
  const { visibility } = source;
  const { namespace } = report.metadata;
  const { cycle, category, productName, exportTo, output, splitBy } = report.spec;
  const { key, money } = source.account;
  const settings = money.settings();
  const tally = createTally(datesIn(zone, range));
  const all = money.bills({
    query: { cycle, category, productName },
    period: range,
    zone,
    closedBefore: (now - settings.settleMs) / 1000,
    signal,
  });
  const sources = { ledger: shared.ledger, namespaceCreated: readNamespaceCreated(shared.kube) };
  const split = splitBy && (await openSplit({ account: key, settings, zone, range }, sources, signal));
  const summed = counted(ofKeys(all, source.keyIDs), tally);
  const bills = split === undefined ? summed : counted(summed, split);
  const view = () => split && splitBy && splitView(split.result(), splitBy, { visibility, namespace });
  const contentOf = (format: BillFormat) => {
    const sums = () => ({ period: shownPeriod(range), ...shownTotals(tally) });
    if (split === undefined) return fileOf(format, bills, sums);
    const facts = visibility === "OwnShare" ? () => ({ period: shownPeriod(range) }) : sums;
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
