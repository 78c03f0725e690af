import type { Range } from "../../provider/money/ranges.ts";
import type { BillingSettings } from "../../provider/money/spend.ts";
import type { TimeZone } from "../../provider/money/time-zone.ts";
import type { AccountKey } from "../account/registry.ts";
import { meterOfBills } from "./meters.ts";
import { createSplit, dayName, type Split } from "./split.ts";
import { indexUsage, type Usage } from "./usage.ts";
import type { Month } from "./usage-month.ts";

/** Which bills are split. */
export type SplitRequest = {
  account: AccountKey;
  settings: Pick<BillingSettings, "products">;
  zone: TimeZone;
  range: Range;
};

/** A bill of a week or a month can begin before its range. */
const LONGEST_BILL_SECONDS = 31 * 86_400;

/** Starts to split the bills of a period by the usage of the account. @throws what `readUsage` throws */
export async function openSplit(
  { account, settings, zone, range }: SplitRequest,
  readUsage: (account: AccountKey, months: readonly Month[]) => Promise<readonly Usage[]>,
): Promise<Split> {
  const usage = await readUsage(account, monthsOf(range, zone));
  return createSplit({ usage: indexUsage(usage), meterOf: meterOfBills(settings.products), zone });
}

/** The months in which the bills of a range may have usage. */
export function monthsOf({ startTime, endTime }: Range, zone: TimeZone): Month[] {
  const months = new Set<Month>();
  for (let time = startTime - LONGEST_BILL_SECONDS; time < endTime; time += 86_400) months.add(monthOf(time, zone));
  months.add(monthOf(endTime - 1, zone));
  return [...months];
}

const monthOf = (time: number, zone: TimeZone): Month => dayName(zone.dayOf(time)).slice(0, 7);
