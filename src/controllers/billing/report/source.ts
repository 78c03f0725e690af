import type { BillReport } from "../../../api/v1alpha1/bill-report.ts";
import { isSameJSON } from "../../../base/same-json.ts";
import { plainText } from "../../../base/sanitizer.ts";
import type { AccountHandle } from "../../account/registry.ts";
import type { Visibility } from "./split-view.ts";

/** The source of a report: an account, some of its API keys (undefined: all), and the part that the report may show. */
export type ReportSource = {
  account: AccountHandle;
  /** In the form in which bills have them: without control and formatting characters. */
  keyIDs: readonly string[] | undefined;
  visibility: Visibility;
};

/** `Refused`: the account lets the report see nothing, for this reason. */
export type SourceResult = { kind: "Allowed"; source: ReportSource } | { kind: "Refused"; message: string };

/** The part of an account that a report may read and show. Bills show the API keys of everyone who shares the account. */
export async function sourceOf({ metadata, spec }: BillReport, account: AccountHandle): Promise<SourceResult> {
  const { namespace } = metadata;
  const wanted = spec.keyIDs && sanitized(spec.keyIDs);
  const keys = await account.reportableKeys(namespace);
  const name = account.key.replace("/", " ");
  const entry = "ask its administrator for an entry in spec.spending.reports, or use an Account";
  if (keys.kind === "All") return allowed({ account, keyIDs: wanted, visibility: "All" });
  if (keys.kind === "OwnShare") {
    if (spec.splitBy !== undefined) return allowed({ account, keyIDs: wanted, visibility: "OwnShare" });
    const message = `${name} shows BillReports of namespace ${namespace} only their own share of the bills: set spec.splitBy, or ${entry}`;
    return { kind: "Refused", message };
  }
  const permitted = sanitized(keys.keyIDs);
  if (permitted.length === 0) {
    const message = `${name} does not let BillReports of namespace ${namespace} see its bills, which show all its API keys: ${entry}`;
    return { kind: "Refused", message };
  }
  const keyIDs = permitted.filter((keyID) => wanted === undefined || wanted.includes(keyID));
  if (keyIDs.length > 0) return allowed({ account, keyIDs, visibility: "Own" });
  const message = `${name} does not let BillReports of namespace ${namespace} see the bills of the keys in spec.keyIDs: use one of ${permitted.join(", ")}, or ${entry}`;
  return { kind: "Refused", message };
}

/** Longest identifier of an API key that a spec takes. */
const LONGEST_KEY_ID = 255;

function sanitized(keyIDs: readonly string[]): string[] {
  return [...new Set(keyIDs.map((keyID) => plainText(keyID, LONGEST_KEY_ID)))].filter((keyID) => keyID !== "");
}

const allowed = (source: ReportSource): SourceResult => ({ kind: "Allowed", source });

/** Whether the status shows what the source allows, no more and no less. */
export function showsSource({ spec, status }: BillReport, { keyIDs, visibility }: ReportSource): boolean {
  if (!isSameJSON(keyIDs, status?.keyIDs)) return false;
  if (spec.splitBy === undefined || status?.asOf === undefined) return true;
  const scope = visibility === "All" ? "All" : "Namespace";
  return status.split?.scope === scope && (status.totals === undefined) === (visibility === "OwnShare");
}
