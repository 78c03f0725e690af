import type { BillReportSpec } from "../../../api/v1alpha1/bill-report.ts";
import { formatYuan } from "../../../base/money.ts";
import type { Bill } from "../../../provider/money/money-records.ts";
import { timeZone } from "../../../provider/money/time-zone.ts";
import { OPERATIONS, type Operation } from "../../../provider/operations.ts";
import type { AccountMoney } from "../../../provider/types.ts";

/** Bills cover a day: the service shows no single request. `matches`: the product is the one of the request. */
export type DayBill = {
  product: string;
  category: string;
  key: string;
  /** Yuan; "" if the service shows no amount that can be read. */
  amount: string;
  /** undefined if the service does not show it. */
  requests: number | undefined;
  matches: boolean;
};

const CYCLE: BillReportSpec["cycle"] = "Day";

/** The bills of the day of a request, those of its operation first. `time`: ms since the epoch. */
export async function billsOfDay(
  money: Pick<AccountMoney, "bills" | "settings">,
  operation: Operation,
  time: number,
  signal: AbortSignal,
): Promise<DayBill[]> {
  const zone = timeZone(money.settings().timeZone);
  const day = zone.dayOf(Math.floor(time / 1000));
  const period = { startTime: zone.startOf(day), endTime: zone.startOf({ ...day, day: day.day + 1 }) };
  const query = { cycle: CYCLE, category: undefined, productName: undefined };
  const found: DayBill[] = [];
  for await (const bills of money.bills({ query, period, zone, closedBefore: 0, signal })) {
    found.push(...bills.map((bill) => dayBill(bill, operation)));
  }
  return found.sort((a, b) => Number(b.matches) - Number(a.matches) || a.product.localeCompare(b.product));
}

function dayBill(bill: Bill, operation: Operation): DayBill {
  return {
    product: bill.productName || bill.productID,
    category: bill.category,
    key: bill.keyName || bill.keyMask,
    amount: bill.amount === undefined ? "" : formatYuan(bill.amount),
    requests: bill.requestCount === undefined ? undefined : Number(bill.requestCount),
    matches: isProductOf(operation, bill),
  };
}

/**
 * The interface does not say how products are named. A product matches if its name or ID has every word of the operation's
 * path, such as `vid` and `i2v`, in any spelling.
 */
export function isProductOf(operation: Operation, { productName, productID }: Pick<Bill, "productName" | "productID">) {
  const words = wordsOf(OPERATIONS[operation].path.split("/").at(-1) ?? "");
  return [productName, productID].some((name) => {
    const own = wordsOf(name);
    return words.every((word) => own.includes(word));
  });
}

/** `vendor` stands for the name of whoever made the model. */
function wordsOf(name: string): string[] {
  return name
    .toLowerCase()
    .split(/[^a-z0-9.]+/)
    .filter((word) => word !== "" && word !== "vendor");
}
