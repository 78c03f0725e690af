import * as z from "zod";
import type { AccountKey } from "../account/registry.ts";
import type { Meter } from "./meters.ts";
import type { Usage } from "./usage.ts";

/** `YYYY-MM`. */
export type Month = string;

/** The usage of all accounts in one calendar month of the bills. */
export type UsageMonth = {
  /** Adds to what the object consumed on the day. */
  add(usage: Usage): void;
  addAll(other: UsageMonth): void;
  /** Of one account; undefined: of all. */
  list(account?: AccountKey): Usage[];
  isEmpty(): boolean;
  /**
   * A line of JSON per account, object and meter, of at most `maxBytes`. When the month is larger, the account with the most
   * bytes shrinks: its objects are folded into the line of their namespace, those whose last usage is the oldest first.
   * When it has no objects left, it loses its lines.
   */
  format(maxBytes: number): { text: string; lost: AccountKey[] };
};

/** Longest meter: a name in a bill with its prefix. */
const METER_LENGTH = 600;
/** Most lines of an account. Usage of further objects counts for their namespace only; usage above that is attributed to no namespace. */
const ACCOUNT_ROWS = 10_000;

type MonthRow = Pick<Usage, "account" | "namespace" | "object" | "created" | "meter"> & {
  /** By day of the month, `01` to `31`: quantity and requests. */
  days: Map<string, { quantity: number; requests: number }>;
};

const lineSchema = z.tuple([
  z.string(),
  z.string(),
  z.string(),
  z.int().min(0),
  z.custom<Meter>((value) => typeof value === "string" && /^(product|model)\//.test(value)),
  z.record(z.string().regex(/^\d\d$/), z.tuple([z.number().min(0), z.int().min(0)])),
]);

export function createUsageMonth(month: Month): UsageMonth {
  const rows = new Map<string, MonthRow>();
  /** Number of lines by account. */
  const counts = new Map<AccountKey, number>();

  /** The line, unless the account has too many. */
  function rowOf(names: Omit<MonthRow, "days">): MonthRow | undefined {
    const { account, namespace, object, created, meter } = names;
    const id = JSON.stringify([account, namespace, object, created, meter]);
    const known = rows.get(id);
    if (known !== undefined) return known;
    const count = counts.get(account) ?? 0;
    if (count >= ACCOUNT_ROWS || meter.length > METER_LENGTH) return undefined;
    const row: MonthRow = { ...names, days: new Map() };
    rows.set(id, row);
    counts.set(account, count + 1);
    return row;
  }

  function remove(id: string, { account }: MonthRow): void {
    rows.delete(id);
    counts.set(account, (counts.get(account) ?? 1) - 1);
  }

  function add({ day, quantity, requests, ...names }: Usage): void {
    const row = rowOf(names) ?? rowOf({ ...names, object: "", created: 0 });
    if (row === undefined) return;
    const date = day.slice(-2);
    const known = row.days.get(date) ?? { quantity: 0, requests: 0 };
    row.days.set(date, { quantity: known.quantity + quantity, requests: known.requests + requests });
  }

  const list = (account?: AccountKey): Usage[] =>
    [...rows.values()]
      .filter((row) => account === undefined || row.account === account)
      .flatMap(({ days, ...names }) =>
        [...days].map(([date, used]) => ({ ...names, day: `${month}-${date}`, ...used })),
      );

  /** Folds the quarter of the account's objects that were used least recently. Returns false when there is no object. */
  function fold(account: AccountKey): boolean {
    const lastDay = ({ days }: MonthRow) => [...days.keys()].reduce((last, date) => (date > last ? date : last), "");
    const objects = [...rows].filter(([, row]) => row.account === account && row.object !== "");
    objects.sort(([, a], [, b]) => (lastDay(a) < lastDay(b) ? -1 : lastDay(a) > lastDay(b) ? 1 : 0));
    for (const [id, { days, ...names }] of objects.slice(0, Math.ceil(objects.length / 4))) {
      remove(id, { ...names, days });
      for (const [date, used] of days) add({ ...names, object: "", created: 0, day: `${month}-${date}`, ...used });
    }
    return objects.length > 0;
  }

  return {
    add,
    list,
    addAll(other) {
      for (const usage of other.list()) add(usage);
    },
    isEmpty: () => rows.size === 0,
    format(maxBytes) {
      const lost: AccountKey[] = [];
      for (;;) {
        const text = [...rows.values()].map(lineOf).join("\n");
        if (Buffer.byteLength(text) <= maxBytes) return { text, lost };
        const largest = largestAccount(rows.values());
        if (fold(largest)) continue;
        for (const [id, row] of rows) if (row.account === largest) remove(id, row);
        lost.push(largest);
      }
    },
  };
}

/** @throws ZodError or SyntaxError for a text that `format` did not make */
export function parseUsageMonth(month: Month, text: string): UsageMonth {
  const parsed = createUsageMonth(month);
  for (const line of text.split("\n")) {
    if (line === "") continue;
    const [account, namespace, object, created, meter, days] = lineSchema.parse(JSON.parse(line));
    for (const [date, [quantity, requests]] of Object.entries(days)) {
      parsed.add({ account, namespace, object, created, meter, day: `${month}-${date}`, quantity, requests });
    }
  }
  return parsed;
}

function largestAccount(rows: Iterable<MonthRow>): AccountKey {
  const bytes = new Map<AccountKey, number>();
  for (const row of rows) bytes.set(row.account, (bytes.get(row.account) ?? 0) + Buffer.byteLength(lineOf(row)));
  const [largest = ""] = [...bytes].sort(([, a], [, b]) => b - a)[0] ?? [];
  return largest;
}

function lineOf({ account, namespace, object, created, meter, days }: MonthRow): string {
  const used = Object.fromEntries(
    [...days].map(([date, { quantity, requests }]) => [date, [Math.round(quantity * 1000) / 1000, requests]]),
  );
  return JSON.stringify([account, namespace, object, created, meter, used]);
}
