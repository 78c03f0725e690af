import type { Charge } from "./ledger.ts";

type BillCycle = "Day" | "Week" | "Month";

const DAY_MS = 86_400_000;

/**
 * Returns the period that contains a time, in a time zone `offsetHours` ahead of UTC.
 * Assumption: weeks begin on Monday.
 */
export function periodOf(atMs: number, cycle: BillCycle, offsetHours: number): { startMs: number; endMs: number } {
  const offsetMs = offsetHours * 3_600_000;
  const local = new Date(atMs + offsetMs);
  const [year, month, day] = [local.getUTCFullYear(), local.getUTCMonth(), local.getUTCDate()];
  const bounds = (start: number, end: number) => ({ startMs: start - offsetMs, endMs: end - offsetMs });
  if (cycle === "Month") return bounds(Date.UTC(year, month, 1), Date.UTC(year, month + 1, 1));
  const midnight = Date.UTC(year, month, day);
  if (cycle === "Day") return bounds(midnight, midnight + DAY_MS);
  const monday = midnight - ((local.getUTCDay() + 6) % 7) * DAY_MS;
  return bounds(monday, monday + 7 * DAY_MS);
}

/** Returns the month that contains a time, if months begin at the day and time of `anchorMs`. */
export function monthFrom(anchorMs: number, atMs: number): { startMs: number; endMs: number } {
  const [anchor, at] = [new Date(anchorMs), new Date(atMs)];
  const startOf = (month: number) => new Date(anchorMs).setUTCMonth(anchor.getUTCMonth() + month);
  let month = (at.getUTCFullYear() - anchor.getUTCFullYear()) * 12 + at.getUTCMonth() - anchor.getUTCMonth();
  if (startOf(month) > atMs) month -= 1;
  return { startMs: startOf(month), endMs: startOf(month + 1) };
}

/**
 * Returns one bill per period, key and product, with every field that the interface always shows.
 * @param fraction is added to the amount of each bill, 1/10000 yuan
 */
export function billsOf(charges: readonly Charge[], cycle: BillCycle, offsetHours: number, fraction = 0) {
  const groups = new Map<
    string,
    { first: Charge; startMs: number; endMs: number; usage: number; amount: number; voucher: number; count: number }
  >();
  for (const charge of charges) {
    const { startMs, endMs } = periodOf(charge.atMs, cycle, offsetHours);
    const id = [startMs, charge.key.id, charge.productID, charge.productName, charge.category].join("\n");
    const group = groups.get(id) ?? { first: charge, startMs, endMs, usage: 0, amount: 0, voucher: 0, count: 0 };
    group.usage += charge.usage;
    group.amount += charge.amount;
    group.voucher += charge.voucher ?? 0;
    group.count += 1;
    groups.set(id, group);
  }
  return [...groups.values()].map(({ first, startMs, endMs, usage, amount, voucher, count }) => ({
    userId: "owner-1",
    startTime: String(startMs / 1000),
    endTime: String(endMs / 1000),
    billingMethod: 1,
    productName: first.productName,
    category: first.category,
    ownerID: first.key.id,
    apikeyName: first.key.name,
    apikeyMask: first.key.mask,
    productId: first.productID,
    ...numbered("billNum", [first.category === "gpu" ? first.unitPrice : usage, usage, 0, 0, 0, 0]),
    ...numbered("basePrice", [first.unitPrice, 0, 0, 0, 0, 0]),
    ...numbered("discountPrice", [first.unitPrice, 0, 0, 0, 0, 0]),
    amount: String(amount + fraction),
    voucherAmount: String(voucher),
    payAmount: String(amount + fraction - voucher),
    payAmountDisplay: (amount + fraction - voucher) / 10_000,
    pricePrecision: 1,
    requestCount: String(count),
    ...first.details,
  }));
}

function numbered(prefix: string, values: number[]): Record<string, string> {
  return Object.fromEntries(values.map((value, i) => [`${prefix}${i}`, String(value)]));
}
