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
   * A line of JSON per account, object and meter, of at most `maxBytes`. When the month is larger, objects are first folded into
   * the line of their namespace: those whose last usage is the oldest go first.
   * @throws RangeError when the lines of the namespaces alone are larger
   */
  format(maxBytes: number): string;
};

type Row = Pick<Usage, "account" | "namespace" | "object" | "meter"> & {
  /** By day of the month, `01` to `31`: quantity and requests. */
  days: Map<string, { quantity: number; requests: number }>;
};

const lineSchema = z.tuple([
  z.string(),
  z.string(),
  z.string(),
  z.custom<Meter>((value) => typeof value === "string" && /^(product|model)\//.test(value)),
  z.record(z.string().regex(/^\d\d$/), z.tuple([z.number().min(0), z.int().min(0)])),
]);

export function createUsageMonth(month: Month): UsageMonth {
  const rows = new Map<string, Row>();

  function add({ day, quantity, requests, ...names }: Usage): void {
    const { account, namespace, object, meter } = names;
    const id = JSON.stringify([account, namespace, object, meter]);
    const row = rows.get(id) ?? { ...names, days: new Map() };
    rows.set(id, row);
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

  /** Folds the quarter of the objects that were used least recently. Returns false when there is no object. */
  function fold(): boolean {
    const lastDay = ({ days }: Row) => [...days.keys()].reduce((last, date) => (date > last ? date : last), "");
    const objects = [...rows].filter(([, { object }]) => object !== "");
    objects.sort(([, a], [, b]) => (lastDay(a) < lastDay(b) ? -1 : lastDay(a) > lastDay(b) ? 1 : 0));
    for (const [id, { days, ...names }] of objects.slice(0, Math.ceil(objects.length / 4))) {
      rows.delete(id);
      for (const [date, used] of days) add({ ...names, object: "", day: `${month}-${date}`, ...used });
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
      for (;;) {
        const text = [...rows.values()].map(lineOf).join("\n");
        const bytes = Buffer.byteLength(text);
        if (bytes <= maxBytes) return text;
        if (!fold()) {
          throw new RangeError(
            `the usage of ${month} has ${bytes} bytes without objects, and a ConfigMap takes ${maxBytes}`,
          );
        }
      }
    },
  };
}

/** @throws ZodError or SyntaxError for a text that `format` did not make */
export function parseUsageMonth(month: Month, text: string): UsageMonth {
  const parsed = createUsageMonth(month);
  for (const line of text.split("\n")) {
    if (line === "") continue;
    const [account, namespace, object, meter, days] = lineSchema.parse(JSON.parse(line));
    for (const [date, [quantity, requests]] of Object.entries(days)) {
      parsed.add({ account, namespace, object, meter, day: `${month}-${date}`, quantity, requests });
    }
  }
  return parsed;
}

function lineOf({ account, namespace, object, meter, days }: Row): string {
  const used = Object.fromEntries(
    [...days].map(([date, { quantity, requests }]) => [date, [Math.round(quantity * 1000) / 1000, requests]]),
  );
  return JSON.stringify([account, namespace, object, meter, used]);
}
