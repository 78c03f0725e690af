import type { Change } from "../manifests.ts";
import { account } from "./account.ts";
import { type Refusal, refusal } from "./refusal.ts";

const bill = (what: string, bad: Change, good: Change, message: string): Refusal =>
  refusal(what, "bill", bad, good, message);
const from = (startTime: string, change: Change = {}): Change => ({ lastDays: null, startTime, ...change });
const one = "exactly one of startTime, lastDays and period is needed: set one, remove the others";

export const billRefusals: readonly Refusal[] = [
  bill("both startTime and lastDays", { startTime: "2026-02-01T00:00:00Z" }, from("2026-02-01T00:00:00+08:00"), one),
  bill("neither startTime nor lastDays", { lastDays: null }, { lastDays: 1 }, one),
  bill(
    "no day at all",
    { lastDays: 0 },
    { lastDays: 3660 },
    "spec.lastDays in body should be greater than or equal to 1",
  ),
  bill(
    "a startTime that is none",
    from("yesterday"),
    from("2026-01-01T00:00:00Z"),
    "spec.startTime in body must be of type date-time",
  ),
  ...[
    { what: "a startTime in a month with fewer days", bad: "2026-02-30T00:00:00Z", good: "2026-02-28T00:00:00Z" },
    {
      what: "a startTime on a leap day of another year",
      bad: "2027-02-29T08:00:00+08:00",
      good: "2028-02-29T08:00:00+08:00",
    },
    { what: "a startTime in a month that does not exist", bad: "2026-13-01T00:00:00Z", good: "2026-12-01T00:00:00Z" },
    { what: "a startTime after the last hour of a day", bad: "2026-02-01T24:00:00Z", good: "2026-02-01T23:59:59.5Z" },
    { what: "a startTime without a time", bad: "2026-02-01", good: "2026-02-01T00:00:00Z" },
    { what: "a startTime without seconds", bad: "2026-02-01T00:00Z", good: "2026-02-01T00:00:00Z" },
  ].map(({ what, bad, good }) => bill(what, from(bad), from(good), "spec.startTime in body must be of type date-time")),
  bill(
    "an endTime on a day that does not exist",
    { endTime: "2026-04-31T00:00:00Z" },
    { endTime: "2026-04-30T00:00:00Z" },
    "spec.endTime in body must be of type date-time",
  ),
  bill(
    "an endTime before startTime",
    from("2026-03-01T00:00:00Z", { endTime: "2026-03-01T00:00:00Z" }),
    from("2026-03-01T00:00:00Z", { endTime: "2026-03-01T00:00:00-01:00" }),
    "endTime must be after startTime",
  ),
  bill(
    "a startTime before there were bills",
    from("2025-12-31T09:59:59Z"),
    from("2026-01-01T00:00:00+14:00"),
    "startTime must not be before 2026-01-01 00:00",
  ),
  bill(
    "an endTime before there were bills",
    { endTime: "2025-06-01T00:00:00Z" },
    { endTime: "2026-06-01T00:00:00Z" },
    "endTime must be after 2026-01-01 00:00",
  ),
  bill("both lastDays and period", { period: "LastMonth" }, { lastDays: null, period: "LastMonth" }, one),
  bill(
    "an endTime with a period",
    { lastDays: null, period: "LastMonth", endTime: "2026-03-01T00:00:00Z" },
    { lastDays: null, period: "LastMonth" },
    "period and endTime exclude each other: remove one",
  ),
  bill(
    "an unknown period",
    { lastDays: null, period: "LastYear" },
    { lastDays: null, period: "LastMonth" },
    'spec.period: Unsupported value: "LastYear"',
  ),
  bill("an unknown split", { splitBy: "Team" }, { splitBy: "Object" }, 'spec.splitBy: Unsupported value: "Team"'),
  bill("an unknown cycle", { cycle: "Year" }, { cycle: "Month" }, 'spec.cycle: Unsupported value: "Year"'),
  bill(
    "an interval without a unit",
    { refreshInterval: "60" },
    { refreshInterval: "30m" },
    "must be a Go duration above 0",
  ),
  bill(
    "two places to write to",
    { exportTo: { configMap: { name: "bills" } }, output: { storeRef: { name: "archive" } } },
    { output: { storeRef: { name: "archive" }, format: "JSON" } },
    "exportTo and output exclude each other",
  ),
  bill(
    "an unknown format",
    { exportTo: { configMap: { name: "bills", format: "XLS" } } },
    { exportTo: { configMap: { name: "bills", format: "JSON" } } },
    'spec.exportTo.configMap.format: Unsupported value: "XLS"',
  ),
  ...["Shanghai Time", "GMT+8:00", "+8", "+15:00", ""].map((timeZone) =>
    account(
      `billing.timeZone "${timeZone}"`,
      { billing: { timeZone } },
      { billing: { timeZone: "Asia/Shanghai" } },
      "billing.timeZone must be UTC, a name such as Asia/Shanghai, or an offset such as +08:00",
    ),
  ),
];
