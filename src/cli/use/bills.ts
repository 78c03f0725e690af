import { once } from "node:events";
import { type Command, InvalidArgumentError, Option } from "commander";
import { IN_OUR_WORDS } from "../../api/schema/wording.ts";
import { type BillReportSpec, billCycles, billReportSpecSchema } from "../../api/v1alpha1/bill-report.ts";
import { rfc3339, systemClock } from "../../base/clock.ts";
import {
  counted,
  fileOf,
  type ShownSums,
  shownPeriod,
  shownSums,
  shownTables,
  shownTotals,
} from "../../controllers/billing/report/file.ts";
import { type ReportPeriod, reportPeriod } from "../../controllers/billing/report/period.ts";
import { splitFile } from "../../controllers/billing/report/split-view.ts";
import { createTally, type Tally } from "../../provider/money/tally.ts";
import { type TimeZone, timeZone } from "../../provider/money/time-zone.ts";
import { type AccountFlags, addAccountOptions, lazyCluster, openAccount } from "../account-source.ts";
import { examplesHelp } from "../exit-codes.ts";
import { tableOf } from "../table.ts";
import { addSplitOptions, allLines, openClusterSplit, type SplitFlags, splitByOf, splitTable } from "./split-bills.ts";

type BillsFlags = AccountFlags &
  SplitFlags &
  Partial<Pick<BillReportSpec, "startTime" | "endTime" | "lastDays" | "category" | "productName">> & {
    cycle: BillReportSpec["cycle"];
    timeZone?: string;
    output: "table" | "csv" | "json";
    rows: number;
  };

const DEFAULT_DAYS = 30;
const MONEY = ["AMOUNT", "VOUCHER", "PAID", "BILLS"];

/** `mooring bills`: the content of a BillReport, printed at once. */
export function registerBillsCommand(program: Command): void {
  const command = program.command("bills").description("show what the service bills, by product, category and API key");
  addSplitOptions(addAccountOptions(command))
    .addOption(new Option("--cycle <cycle>", "what one bill covers").choices(billCycles).default("Day"))
    .addOption(
      new Option(
        "--last-days <days>",
        `number of days up to the end of the period, including the last one; default ${DEFAULT_DAYS}`,
      )
        .argParser(days)
        .conflicts("startTime"),
    )
    .option("--start-time <time>", "start of the period, RFC 3339 or a day; not before 2026-01-01 00:00")
    .option("--end-time <time>", "end of the period (exclusive), RFC 3339 or a day; default: now")
    .option("--category <name>", "only bills of this category, such as llm, gen_api or web_search")
    .option("--product-name <name>", "only bills whose product name matches this; the service decides what matches")
    .option("--time-zone <zone>", "time zone of the bills; default: the account's billing.timeZone, else UTC")
    .addOption(
      new Option("-o, --output <format>", "table, csv (one line per bill) or json (bills and tables)")
        .choices(["table", "csv", "json"])
        .default("table"),
    )
    .addOption(new Option("--rows <count>", "rows of each table").argParser(days).default(20))
    .addHelpText(
      "after",
      examplesHelp("bills", [
        "mooring bills --cluster-account default --last-days 7",
        "mooring bills --account default -n team-a --start-time 2026-03-01 --end-time 2026-04-01 --cycle Month",
        "mooring bills --cluster-account default --by namespace",
        "mooring bills --base-url https://api.example.com --api-key-file key.txt -o csv > bills.csv",
      ]),
    )
    .action(async (flags: BillsFlags) => {
      await run(flags);
    });
}

async function run(flags: BillsFlags): Promise<void> {
  const lastDays = flags.lastDays ?? (flags.startTime === undefined ? DEFAULT_DAYS : undefined);
  const { startTime, endTime, category, productName, cycle } = flags;
  const times = { startTime: withTime(startTime), endTime: withTime(endTime) };
  const spec = checked({ ...times, lastDays, category, productName, cycle });
  const cluster = lazyCluster(flags, process.env);
  try {
    const { session, ref } = await openAccount(flags, process.env, cluster.open);
    const { money } = session;
    try {
      const settings = money.settings();
      const zone = timeZone(flags.timeZone ?? settings.timeZone);
      const zoned = { startTime: moment(startTime, zone), endTime: moment(endTime, zone) };
      const period = reportPeriod({ ...spec, ...zoned }, zone, settings.settleMs, systemClock.now());
      const range = askable(period);
      const tally = createTally();
      const by = splitByOf(flags);
      const split = by && (await openClusterSplit(await cluster.open(), ref, flags, { settings, zone, range }));
      const tallied = counted(
        money.bills({
          query: { cycle, category, productName },
          period: range,
          zone,
          closedBefore: 0,
          signal: new AbortController().signal,
        }),
        tally,
      );
      const bills = split === undefined ? tallied : counted(tallied, split);
      const shown = { ...shownPeriod(range), timeZone: zone.name };
      if (flags.output === "table") {
        for await (const _ of bills);
        await write(
          split && by
            ? `${heading(session.baseURL, shown)}${splitTable(allLines(split, by), flags.rows)}`
            : tables(session.baseURL, shown, tally, flags.rows),
        );
      } else {
        const summary = () => ({ period: shown, ...shownTotals(tally) });
        const format = flags.output === "csv" ? "CSV" : "JSON";
        const view = () => split && by && allLines(split, by);
        const file = split ? splitFile(format, bills, view, summary) : fileOf(format, bills, summary);
        for await (const part of file) await write(part);
      }
      warnOfUnreadable(tally);
    } finally {
      await session.close();
    }
  } finally {
    await cluster.close();
  }
}

/** @throws Error of one line, in the words of the flags */
function checked(input: object): BillReportSpec {
  const parsed = billReportSpecSchema.safeParse(input, IN_OUR_WORDS);
  if (parsed.success) return parsed.data;
  const { issues } = parsed.error;
  // What is no time at all is not told of its range as well.
  const first = issues.filter(({ path }, index) => index === issues.findIndex((one) => one.path[0] === path[0]));
  throw new Error(first.map(({ path, message }) => named(path.join("."), message)).join("; "));
}

const DAY = /^(\d{4})-(\d\d)-(\d\d)$/;

/** A day alone as a time, to check it before the time zone of the bills is known. */
function withTime(time: string | undefined): string | undefined {
  return time?.replace(DAY, "$&T00:00:00Z");
}

/** A day alone begins at midnight by the clock of the bills. */
function moment(time: string | undefined, zone: TimeZone): string | undefined {
  const [, year, month, day] = DAY.exec(time ?? "")?.map(Number) ?? [];
  if (year === undefined || month === undefined || day === undefined) return time;
  return rfc3339(zone.startOf({ year, month, day }) * 1000);
}

function named(field: string, message: string): string {
  return message.startsWith(field) ? message : `${field} ${message}`;
}

function askable(period: ReportPeriod) {
  if (period.kind === "Refused")
    throw new Error(period.message.replace(/;[^;]*$/, "; change the period or --time-zone"));
  if (period.kind === "NotBegun") throw new Error("the period has not begun: there are no bills yet");
  return period.range;
}

type ShownPeriod = { startTime: string; endTime: string; timeZone: string };

function heading(baseURL: string, { startTime, endTime, timeZone: zone }: ShownPeriod): string {
  return `${baseURL}: ${startTime} to ${endTime} (${zone}), in yuan\n`;
}

function tables(baseURL: string, shown: ShownPeriod, tally: Tally, rows: number): string {
  const { byProduct, byCategory, byKey } = shownTables(tally);
  const total = shownSums(tally.totals());
  const table = (names: string[], all: (ShownSums & { cells: string[] })[]) => {
    const lines = all
      .slice(0, rows)
      .map(({ cells, amount, voucher, paid, records }) => [
        ...cells.map(plain),
        ...[amount, voucher, paid].map(aligned),
        String(records),
      ]);
    const more = all.length > rows ? `and ${all.length - rows} more; --rows ${all.length} shows them\n` : "";
    return tableOf([...names, ...MONEY], lines, MONEY) + more;
  };
  const head = heading(baseURL, shown);
  if (total.records === 0) return `${head}no bills\n`;
  return [
    head,
    table([""], [{ ...total, cells: ["TOTAL"] }]),
    table(
      ["PRODUCT", "ID"],
      byProduct.map((row) => ({ ...row, cells: [row.productName, row.productID] })),
    ),
    table(
      ["CATEGORY"],
      byCategory.map((row) => ({ ...row, cells: [row.category] })),
    ),
    table(
      ["KEY", "ID", "MASKED"],
      byKey.map((row) => ({ ...row, cells: [row.keyName, row.keyID, row.keyMask] })),
    ),
  ].join("\n");
}

/** All four decimals that money has, so that points stand under points. */
function aligned(yuan: string): string {
  const [whole, part = ""] = yuan.split(".");
  return `${whole}.${part.padEnd(4, "0")}`;
}

/** Names come from other people: what would steer a terminal is left out. */
function plain(text: string): string {
  return text.replaceAll(/\p{C}/gu, "") || "-";
}

function warnOfUnreadable(tally: Tally): void {
  const [unreadable, { records }] = [tally.unreadable(), tally.totals()];
  if (unreadable === 0) return;
  process.stderr.write(
    `warning: ${unreadable} of ${records} bills ${unreadable === 1 ? "has" : "have"} an amount that is not an integer; the totals do not include ${unreadable === 1 ? "it" : "them"}\n`,
  );
  process.exitCode = 1;
}

async function write(text: string): Promise<void> {
  if (!process.stdout.write(text)) await once(process.stdout, "drain");
}

function days(value: string): number {
  const number = Number(value);
  if (!/^\d+$/.test(value) || number < 1) throw new InvalidArgumentError("must be an integer, 1 or more");
  return number;
}
