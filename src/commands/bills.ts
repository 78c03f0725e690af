import { once } from "node:events";
import { type Command, InvalidArgumentError, Option } from "commander";
import { type BillReportSpec, billCycles, billReportSpecSchema } from "../api/bill-report.ts";
import { parseDuration } from "../api/duration.ts";
import { systemClock } from "../clock.ts";
import { type ReportPeriod, reportPeriod } from "../controllers/bill-report/period.ts";
import { fileOf, type ShownSums, shownPeriod, shownSums, shownTables, tallied } from "../controllers/billing/export.ts";
import { billsOfPeriod } from "../controllers/billing/period.ts";
import { createBillReader } from "../controllers/billing/reader.ts";
import { createTally, type Tally } from "../controllers/billing/tally.ts";
import { timeZone } from "../controllers/billing/time-zone.ts";
import { type AccountFlags, addAccountOptions, lazyCluster, openAccount } from "./account-source.ts";
import { tableOf } from "./table.ts";

type Flags = AccountFlags &
  Partial<Pick<BillReportSpec, "startTime" | "endTime" | "lastDays" | "category" | "productName">> & {
    cycle: BillReportSpec["cycle"];
    timeZone?: string;
    output: "table" | "csv" | "json";
    rows: number;
  };

const DEFAULT_DAYS = 30;

/** `mooring bills`: what a BillReport says, at once and in a terminal. */
export function registerBillsCommand(program: Command): void {
  const command = program.command("bills").description("show what the service bills, by product, category and API key");
  addAccountOptions(command)
    .addOption(new Option("--cycle <cycle>", "what one bill covers").choices(billCycles).default("Day"))
    .addOption(
      new Option("--last-days <days>", `days up to the end, the last one included; default ${DEFAULT_DAYS}`)
        .argParser(days)
        .conflicts("startTime"),
    )
    .option("--start-time <time>", "when the period begins, RFC 3339; not before 2026-01-01 00:00")
    .option("--end-time <time>", "when the period ends, RFC 3339; default now")
    .option("--category <name>", "only bills of this category, such as llm, gen_api or web_search")
    .option("--product-name <name>", "only bills whose product name matches this, as the service matches")
    .option("--time-zone <zone>", "the clock of the bills; default: the account's billing.timeZone, else UTC")
    .addOption(
      new Option("-o, --output <format>", "table, csv (a line for each bill) or json (bills and tables)")
        .choices(["table", "csv", "json"])
        .default("table"),
    )
    .addOption(new Option("--rows <count>", "rows of each table").argParser(days).default(20))
    .action(async (flags: Flags) => {
      await run(flags);
    });
}

async function run(flags: Flags): Promise<void> {
  const lastDays = flags.lastDays ?? (flags.startTime === undefined ? DEFAULT_DAYS : undefined);
  const { startTime, endTime, category, productName, cycle } = flags;
  const spec = checked({ startTime, endTime, lastDays, category, productName, cycle });
  const cluster = lazyCluster(flags, process.env);
  try {
    const account = await openAccount(flags, process.env, cluster.open);
    try {
      const zone = timeZone(flags.timeZone ?? account.billing.timeZone);
      const settleMs = parseDuration(account.billing.settleTime);
      const period = reportPeriod(spec, zone, settleMs, systemClock.now());
      const range = askable(period);
      const tally = createTally();
      const bills = tallied(
        billsOfPeriod({
          reader: createBillReader({ client: account.client }),
          query: { cycle, category, productName },
          period: range,
          zone,
          closedBefore: 0,
          signal: new AbortController().signal,
        }),
        tally,
      );
      const shown = { ...shownPeriod(range), timeZone: zone.name };
      if (flags.output === "table") {
        for await (const _ of bills);
        await write(tables(account.baseURL, shown, tally, flags.rows));
      } else {
        const summary = () => ({
          period: shown,
          totals: shownSums(tally.totals()),
          unreadable: tally.unreadable(),
          ...shownTables(tally),
        });
        for await (const part of fileOf(flags.output === "csv" ? "CSV" : "JSON", bills, summary)) await write(part);
      }
      warnOfUnreadable(tally);
    } finally {
      await account.close();
    }
  } finally {
    await cluster.close();
  }
}

/** @throws Error of one line, in the words of the flags */
function checked(input: object): BillReportSpec {
  const parsed = billReportSpecSchema.safeParse(input);
  if (parsed.success) return parsed.data;
  throw new Error(parsed.error.issues.map(({ path, message }) => named(path.join("."), message)).join("; "));
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

type Shown = { startTime: string; endTime: string; timeZone: string };

function tables(baseURL: string, { startTime, endTime, timeZone: zone }: Shown, tally: Tally, rows: number): string {
  const { byProduct, byCategory, byKey } = shownTables(tally);
  const total = shownSums(tally.totals());
  const table = (names: string[], all: (ShownSums & { cells: string[] })[]) => {
    const money = ["AMOUNT", "VOUCHER", "PAID", "BILLS"];
    const lines = all
      .slice(0, rows)
      .map(({ cells, amount, voucher, paid, records }) => [
        ...cells.map(plain),
        amount,
        voucher,
        paid,
        String(records),
      ]);
    const more = all.length > rows ? `and ${all.length - rows} more; --rows ${all.length} shows them\n` : "";
    return tableOf([...names, ...money], lines, money) + more;
  };
  return [
    `${baseURL}: ${startTime} to ${endTime} (${zone}), in yuan\n`,
    table(["TOTAL"], [{ ...total, cells: [""] }]),
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

/** Names come from other people: what would steer a terminal is left out. */
function plain(text: string): string {
  return text.replaceAll(/\p{C}/gu, "") || "-";
}

function warnOfUnreadable(tally: Tally): void {
  const [unreadable, { records }] = [tally.unreadable(), tally.totals()];
  if (unreadable === 0) return;
  process.stderr.write(
    `warning: ${unreadable} of ${records} bills have an amount that is no integer, and the sums lack them\n`,
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
