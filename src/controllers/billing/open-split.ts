import { findObject, type KubeClient } from "../../kube/client.ts";
import { namespaceResource } from "../../kube/resource.ts";
import type { KubeObject } from "../../kube/types.ts";
import type { TimeRange } from "../../provider/money/ranges.ts";
import type { BillingSettings } from "../../provider/money/spend.ts";
import type { TimeZone } from "../../provider/money/time-zone.ts";
import type { AccountKey } from "../account/registry.ts";
import type { UsageLedger } from "./ledger.ts";
import { meterOfBills } from "./meters.ts";
import { createSplit, dayName, type Split } from "./split.ts";
import { createdOf, indexUsage, type Usage } from "./usage.ts";
import type { Month } from "./usage-month.ts";

/** Which bills are split. */
export type SplitRequest = {
  account: AccountKey;
  settings: Partial<Pick<BillingSettings, "products" | "settleMs">>;
  zone: TimeZone;
  range: TimeRange;
};

const DELETED = " (deleted)";
/** A bill of a week or a month can begin before its range. */
const LONGEST_BILL_SECONDS = 31 * 86_400;

/** `createdOf` the namespace with a name; undefined: there is none. @throws KubeError */
export type NamespaceCreated = (name: string, signal: AbortSignal) => Promise<number | undefined>;

export type SplitSources = { ledger: Pick<UsageLedger, "read">; namespaceCreated: NamespaceCreated };

/** Starts to split the bills of a period by the usage of the account. @throws what the sources throw */
export async function openSplit(
  { account, settings, zone, range }: SplitRequest,
  { ledger, namespaceCreated }: SplitSources,
  signal: AbortSignal,
): Promise<Split> {
  const all = await ledger.read(account, monthsOf(range, zone), signal);
  const usage = await separateDeleted(all, zone, (name) => namespaceCreated(name, signal));
  const settledBefore = settings.settleMs === undefined ? 0 : range.endTime - settings.settleMs / 1000;
  return createSplit({ usage: indexUsage(usage), meterOf: meterOfBills(settings.products), zone, settledBefore });
}

/** Never read from a cache, so that a namespace that was just made again shows nothing of the earlier one. */
export function readNamespaceCreated(kube: Pick<KubeClient, "get">): NamespaceCreated {
  return async (name, signal) => {
    const found = await findObject<KubeObject>(kube, namespaceResource, { name }, { signal });
    return found && createdOf(found.metadata);
  };
}

/**
 * Gives the usage of namespaces that were deleted a name that no namespace can have. A namespace has the usage of objects that were
 * created after it, and that of later days: whatever had its name before is gone by then.
 */
async function separateDeleted(
  usage: readonly Usage[],
  zone: TimeZone,
  created: (name: string) => Promise<number | undefined>,
): Promise<Usage[]> {
  const present = new Map<string, { since: number; day: string }>();
  // One after another, so that a year of short-lived namespaces delays no other request.
  for (const name of new Set(usage.map(({ namespace }) => namespace))) {
    const since = name === "" ? undefined : await created(name);
    if (since !== undefined) present.set(name, { since, day: dayName(zone.dayOf(since)) });
  }
  return usage.map((one) => {
    const { since, day } = present.get(one.namespace) ?? { since: Infinity, day: "9999" };
    const isPresent = one.namespace === "" || one.created >= since || one.day > day;
    return isPresent ? one : { ...one, namespace: `${one.namespace}${DELETED}` };
  });
}

/** The months in which the bills of a range may have usage. */
export function monthsOf({ startTime, endTime }: TimeRange, zone: TimeZone): Month[] {
  const months = new Set<Month>();
  for (let time = startTime - LONGEST_BILL_SECONDS; time < endTime; time += 86_400) months.add(monthOf(time, zone));
  months.add(monthOf(endTime - 1, zone));
  return [...months];
}

const monthOf = (time: number, zone: TimeZone): Month => dayName(zone.dayOf(time)).slice(0, 7);
