import { type BillFormat, type BillReportStatus, SPLIT_ROWS, type SplitBy } from "../../../api/v1alpha1/bill-report.ts";
import { rfc3339 } from "../../../base/clock.ts";
import { formatYuan, type Money } from "../../../base/money.ts";
import type { Bill } from "../../../provider/money/money-records.ts";
import type { Share, SplitResult } from "../split.ts";
import { csvLine } from "./file.ts";

/**
 * What a report may show.
 * `All`: the bills, and the lines of all namespaces.
 * `Own`: the bills of the report's API keys, the lines of its own namespace, and one sum of all others.
 * `OwnShare`: the lines of its own namespace, and no bill.
 */
export type Visibility = "All" | "Own" | "OwnShare";

/** A split as a report shows it. `others`: the cost of what has no line. */
export type SplitView = {
  by: SplitBy;
  scope: "All" | "Namespace";
  lines: readonly Share[];
  others: Money | undefined;
  unattributed: Money | undefined;
};

type StatusSplit = NonNullable<BillReportStatus["split"]>;

/** The part of a split that a report in `namespace` may show. */
export function splitView(
  result: Pick<SplitResult, "shares" | "total" | "unattributed">,
  by: SplitBy,
  { visibility, namespace }: { visibility: Visibility; namespace: string },
): SplitView {
  const shares = result.shares(by);
  if (visibility === "All") {
    return { by, scope: "All", lines: shares, others: undefined, unattributed: result.unattributed };
  }
  const lines = shares.filter((share) => share.namespace === namespace);
  const others = visibility === "OwnShare" ? undefined : result.total - sumOf(lines);
  return { by, scope: "Namespace", lines, others, unattributed: undefined };
}

/** `status.split`: the most expensive lines. The rest counts among the others. */
export function statusSplit(view: SplitView): StatusSplit {
  const cutOff = view.lines.slice(SPLIT_ROWS);
  const others = cutOff.length === 0 ? view.others : (view.others ?? 0n) + sumOf(cutOff);
  return shown({ ...view, lines: view.lines.slice(0, SPLIT_ROWS), others });
}

/**
 * A split as a file. Reads all bills first. CSV has one line per share; its first column names the kind of the line.
 * @param facts what JSON shows besides the split
 */
export async function* splitFile(
  format: BillFormat,
  bills: AsyncIterable<Bill[]>,
  view: () => SplitView | undefined,
  facts: () => Record<string, unknown>,
): AsyncGenerator<string> {
  for await (const _ of bills);
  const present = view();
  if (present === undefined) throw new Error("a file of a split needs a split");
  const split = shown(present);
  if (format === "JSON") {
    yield `${JSON.stringify({ ...facts(), split }, null, 2)}\n`;
    return;
  }
  yield csvLine(["line", "namespace", "kind", "name", "created", "amount"]);
  for (const { namespace, kind = "", name = "", created = "", amount } of split.lines) {
    yield csvLine([split.by, namespace, kind, name, created, amount]);
  }
  if (split.others !== undefined) yield csvLine(["Others", "", "", "", "", split.others]);
  if (split.unattributed !== undefined) yield csvLine(["Unattributed", "", "", "", "", split.unattributed]);
}

function shown({ by, scope, lines, others, unattributed }: SplitView): StatusSplit {
  return {
    by,
    scope,
    lines: lines.map(({ namespace, object, created, amount }) => ({
      namespace,
      ...(object === "" ? {} : { ...namesOf(object), created: rfc3339(created * 1000) }),
      amount: formatYuan(amount),
    })),
    ...(others === undefined ? {} : { others: formatYuan(others) }),
    ...(unattributed === undefined ? {} : { unattributed: formatYuan(unattributed) }),
  };
}

function namesOf(object: string): { kind: string; name: string } {
  const slash = object.indexOf("/");
  return { kind: object.slice(0, slash), name: object.slice(slash + 1) };
}

function sumOf(lines: readonly Share[]): Money {
  return lines.reduce((sum, { amount }) => sum + amount, 0n);
}
