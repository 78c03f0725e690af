import * as z from "zod";
import type { NamespacedObject } from "../../kube/types.ts";
import { duration, flag, int, listOf, objectName, specTime, text, time, yuanStatus } from "../schema/fields.ts";
import { ruled } from "../schema/rule.ts";
import { outputSchema } from "./job.ts";
import { accountRefSchema, boundAccountSchema, commonStatus, PENDING_STATUS } from "./meta.ts";

export const billCycles = ["Day", "Week", "Month"] as const;
export const billFormats = ["CSV", "JSON"] as const;
export const reportPeriods = ["LastMonth"] as const;
export const splits = ["Namespace", "Object"] as const;
export type SplitBy = (typeof splits)[number];
export type BillFormat = (typeof billFormats)[number];

/** Rows of a table in the status; an export has all of them. */
export const TOP_ROWS = 20;
/** Rows of the table by date: the days of a quarter. */
export const DATE_ROWS = 100;

/** Lines of a split in the status; an export has all of them. */
export const SPLIT_ROWS = 100;

/** The earliest 2026-01-01 00:00 that any time zone has (UTC+14); the account's own is checked before the first query. */
const EARLIEST = "2025-12-31T10:00:00Z";

const format = z
  .enum(billFormats)
  .default("CSV")
  .describe(
    "CSV: a line for each bill. JSON: all bills and the tables. With splitBy, both have the lines of the split and no bills. Default CSV.",
  );

const exportSchema = z
  .object({
    configMap: z
      .object({
        name: objectName(
          "Name of the ConfigMap, in the namespace of this object; the operator creates it, and it is deleted with this object.",
        ),
        format,
      })
      .describe("The ConfigMap to write; 1 MiB at most."),
  })
  .describe("Destination of the bills in the cluster.");

export const billReportSpecSchema = ruled(
  z.object({
    accountRef: accountRefSchema.optional(),
    cycle: z.enum(billCycles).default("Day").describe("What one bill covers: a Day, a Week or a Month. Default Day."),
    startTime: specTime(
      "Start of the period, not before 2026-01-01 00:00 in the account's billing.timeZone. RFC 3339.",
    ).optional(),
    lastDays: int(
      1,
      "Days that the period covers, including its last day: 1 is only the last day. Days before 2026 are left out. 1 to 3660.",
      3660,
    ).optional(),
    period: z
      .enum(reportPeriods)
      .describe("LastMonth: the calendar month before the current one, in the account's billing.timeZone.")
      .optional(),
    endTime: specTime("End of the period, exclusive. Default: now. RFC 3339.").optional(),
    category: text(255, "Only bills of this category, such as llm, gen_api or web_search. Default: all.").optional(),
    productName: text(
      255,
      "Only bills whose product name matches this. The service decides what matches. Default: all.",
    ).optional(),
    keyIDs: listOf(
      text(255, "API key identifier."),
      100,
      "Only bills of these API keys, such as the keys that Mooring uses. Default: all that the report may cover.",
    ).optional(),
    splitBy: z
      .enum(splits)
      .describe(
        "Splits the bills among the namespaces, or among the GpuEndpoints and jobs, that used them. The split is an estimate whose lines add up exactly to the bills. Default: no split.",
      )
      .optional(),
    refreshInterval: duration(
      "Interval between two reads of the bills, until the period is over and they are final. Default 1h.",
    ).default("1h"),
    exportTo: exportSchema.optional(),
    output: outputSchema
      .extend({ format })
      .describe("The ArtifactStore to write the bills to; every refresh replaces what is there.")
      .optional(),
  }),
  [
    {
      cel: "[has(self.startTime), has(self.lastDays), has(self.period)].filter(set, set).size() == 1",
      message: "exactly one of startTime, lastDays and period is needed: set one, remove the others",
      holds: (spec) => [spec.startTime, spec.lastDays, spec.period].filter((value) => value !== undefined).length === 1,
    },
    {
      cel: "!has(self.period) || !has(self.endTime)",
      message: "period and endTime exclude each other: remove one",
      fieldPath: ".endTime",
      holds: (spec) => spec.period === undefined || spec.endTime === undefined,
    },
    {
      cel: "!has(self.startTime) || !has(self.endTime) || self.startTime < self.endTime",
      message: "endTime must be after startTime",
      fieldPath: ".endTime",
      holds: ({ startTime, endTime }) =>
        startTime === undefined || endTime === undefined || Date.parse(startTime) < Date.parse(endTime),
    },
    {
      cel: `!has(self.startTime) || self.startTime >= timestamp('${EARLIEST}')`,
      message: "startTime must not be before 2026-01-01 00:00: the service has no bills of earlier times",
      fieldPath: ".startTime",
      holds: ({ startTime }) => startTime === undefined || Date.parse(startTime) >= Date.parse(EARLIEST),
    },
    {
      cel: `!has(self.endTime) || self.endTime > timestamp('${EARLIEST}')`,
      message: "endTime must be after 2026-01-01 00:00: the service has no bills of earlier times",
      fieldPath: ".endTime",
      holds: ({ endTime }) => endTime === undefined || Date.parse(endTime) > Date.parse(EARLIEST),
    },
    {
      cel: "!has(self.exportTo) || !has(self.output)",
      message: "exportTo and output exclude each other: set one, remove the other",
      holds: (spec) => spec.exportTo === undefined || spec.output === undefined,
    },
  ],
).describe("Bills to report, and their destination.");
export type BillReportSpec = z.output<typeof billReportSpecSchema>;

const sums = {
  amount: yuanStatus("Total cost."),
  voucher: yuanStatus("Paid with vouchers."),
  paid: yuanStatus("Paid in cash."),
};
const rowSums = { ...sums, records: int(0, "Bills.") };
const top = (what: string) => `The ${TOP_ROWS} most expensive ${what}.`;

export const billReportStatusSchema = z
  .object({
    ...commonStatus,
    account: boundAccountSchema.optional(),
    keyIDs: listOf(
      text(255, "API key identifier.", 0),
      1600,
      "The API keys that the report covers, by keyIDs and by spending.reports of the ClusterAccount. Absent: all keys.",
    ).optional(),
    period: z
      .object({ startTime: time("Start of the period."), endTime: time("End of the period.") })
      .describe("Period of the bills below.")
      .optional(),
    totals: z.object(sums).describe("Sums over all bills of the period.").optional(),
    byProduct: listOf(
      z.object({ productName: text(512, "Product.", 0), productID: text(512, "Its identifier.", 0), ...rowSums }),
      TOP_ROWS,
      top("products"),
    ).optional(),
    byCategory: listOf(
      z.object({ category: text(512, "Category.", 0), ...rowSums }),
      TOP_ROWS,
      top("categories"),
    ).optional(),
    byKey: listOf(
      z.object({
        keyID: text(512, "API key identifier.", 0),
        keyName: text(512, "API key name.", 0),
        keyMask: text(512, "The masked API key, as the service shows it.", 0),
        ...rowSums,
      }),
      TOP_ROWS,
      top("API keys"),
    ).optional(),
    byDate: listOf(
      z.object({
        date: text(10, "First day of the period of these bills, in billing.timeZone, such as 2026-11-22.", 0),
        ...rowSums,
      }),
      DATE_ROWS,
      `The cost by day, week or month, as spec.cycle says, oldest first. The last ${DATE_ROWS} rows.`,
    ).optional(),
    split: z
      .object({
        by: z.enum(splits).describe("Whether a line is the cost of a namespace or of an object."),
        scope: z
          .enum(["All", "Namespace"])
          .describe("All: the lines of every namespace. Namespace: only those of the namespace of this report."),
        lines: listOf(
          z.object({
            namespace: text(73, "Namespace that used the bills. `NAME (deleted)`: an earlier namespace of this name."),
            kind: text(63, "Kind of the object.").optional(),
            name: text(253, "Name of the object. Absent: objects that are not told apart.").optional(),
            created: time("When the object was created. It tells objects of the same name apart.").optional(),
            amount: yuanStatus("Estimated cost."),
          }),
          SPLIT_ROWS,
          `The ${SPLIT_ROWS} most expensive namespaces or objects.`,
        ),
        others: yuanStatus("Cost of everything without a line of its own.").optional(),
        unattributed: yuanStatus("Cost that nothing in the cluster is known to have caused.").optional(),
      })
      .describe("The bills by namespace or object. lines, others and unattributed add up exactly to totals.amount.")
      .optional(),
    records: int(0, "Bills of the period.").optional(),
    unreadable: int(0, "Bills whose amount is not an integer. The sums do not include them.").optional(),
    asOf: time("When the bills were read.").optional(),
    final: flag("True: the period is over and its bills are final. They are not read again.").optional(),
    export: z
      .object({
        configMap: text(253, "Name of the ConfigMap.", 0).optional(),
        uri: text(4096, "Location of the file in the ArtifactStore.", 0).optional(),
        sha256: text(64, "SHA-256 of the file in the ArtifactStore, in hex.", 0).optional(),
        format: z.enum(billFormats).describe("CSV or JSON."),
        bytes: z.int().min(0).describe("Size of the file."),
      })
      .describe("The last export.")
      .optional(),
  })
  .default(PENDING_STATUS)
  .describe("Cost of the period.");
export type BillReportStatus = z.output<typeof billReportStatusSchema>;

export type BillReport = NamespacedObject<BillReportSpec, BillReportStatus>;
