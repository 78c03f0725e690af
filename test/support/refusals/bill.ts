import type { Change } from "../manifests.ts";
import { type Refusal, refusalsOf } from "./refusal.ts";

const bill = refusalsOf("bill");
const account = refusalsOf("account");
const from = (startTime: string, change: Change = {}): Change => ({ lastDays: null, startTime, ...change });
const one = "exactly one of startTime, lastDays and period is needed: set one, remove the others";

export const billRefusals: readonly Refusal[] = [
  bill({ startTime: "2026-02-01T00:00:00Z" }, from("2026-02-01T00:00:00+08:00"), one),
  bill({ lastDays: null }, { lastDays: 1 }, one),
  bill({ lastDays: 0 }, { lastDays: 3660 }, "spec.lastDays in body should be greater than or equal to 1"),
  bill(from("yesterday"), from("2026-01-01T00:00:00Z"), "spec.startTime in body must be of type date-time"),
  ...[
    ["2026-02-30T00:00:00Z", "2026-02-28T00:00:00Z"],
    ["2027-02-29T08:00:00+08:00", "2028-02-29T08:00:00+08:00"],
    ["2026-13-01T00:00:00Z", "2026-12-01T00:00:00Z"],
    ["2026-02-01T24:00:00Z", "2026-02-01T23:59:59.5Z"],
    ["2026-02-01", "2026-02-01T00:00:00Z"],
    ["2026-02-01T00:00Z", "2026-02-01T00:00:00Z"],
  ].map(([bad = "", good = ""]) => bill(from(bad), from(good), "spec.startTime in body must be of type date-time")),
  bill(
    { endTime: "2026-04-31T00:00:00Z" },
    { endTime: "2026-04-30T00:00:00Z" },
    "spec.endTime in body must be of type date-time",
  ),
  bill(
    from("2026-03-01T00:00:00Z", { endTime: "2026-03-01T00:00:00Z" }),
    from("2026-03-01T00:00:00Z", { endTime: "2026-03-01T00:00:00-01:00" }),
    "endTime must be after startTime",
  ),
  bill(
    from("2025-12-31T09:59:59Z"),
    from("2026-01-01T00:00:00+14:00"),
    "startTime must not be before 2026-01-01 00:00",
  ),
  bill(
    { endTime: "2025-06-01T00:00:00Z" },
    { endTime: "2026-06-01T00:00:00Z" },
    "endTime must be after 2026-01-01 00:00",
  ),
  bill({ period: "LastMonth" }, { lastDays: null, period: "LastMonth" }, one),
  bill(
    { lastDays: null, period: "LastMonth", endTime: "2026-03-01T00:00:00Z" },
    { lastDays: null, period: "LastMonth" },
    "period and endTime exclude each other: remove one",
  ),
  bill(
    { lastDays: null, period: "LastYear" },
    { lastDays: null, period: "LastMonth" },
    'spec.period: Unsupported value: "LastYear"',
  ),
  bill({ splitBy: "Team" }, { splitBy: "Object" }, 'spec.splitBy: Unsupported value: "Team"'),
  bill({ cycle: "Year" }, { cycle: "Month" }, 'spec.cycle: Unsupported value: "Year"'),
  bill({ refreshInterval: "60" }, { refreshInterval: "30m" }, "must be a Go duration above 0"),
  bill(
    { exportTo: { configMap: { name: "bills" } }, output: { storeRef: { name: "archive" } } },
    { output: { storeRef: { name: "archive" }, format: "JSON" } },
    "exportTo and output exclude each other",
  ),
  bill(
    { exportTo: { configMap: { name: "bills", format: "XLS" } } },
    { exportTo: { configMap: { name: "bills", format: "JSON" } } },
    'spec.exportTo.configMap.format: Unsupported value: "XLS"',
  ),
  ...["Shanghai Time", "GMT+8:00", "+8", "+15:00", ""].map((timeZone) =>
    account(
      { billing: { timeZone } },
      { billing: { timeZone: "Asia/Shanghai" } },
      "billing.timeZone must be UTC, a name such as Asia/Shanghai, or an offset such as +08:00",
    ),
  ),
];
