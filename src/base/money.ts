/**
 * Exact money. The service counts in integers of 1/10000 yuan (interface: API key bill record); so do we, as bigint, and
 * decimals are made only for showing.
 */
export type Money = bigint;

const PER_YUAN = 10_000n;
/** Decimals of a quotient that has no end. */
const ENDLESS_DECIMALS = 20;

/** Yuan as a decimal string without superfluous zeros: 125000n is "12.5", -1n is "-0.0001". */
export function formatYuan(amount: Money): string {
  return decimal(amount, PER_YUAN);
}

/** The other way. @throws Error for anything but a decimal with at most four decimals */
export function parseYuan(text: string): Money {
  const [, sign = "", whole = "", part = ""] = /^(-?)(\d{1,40})(?:\.(\d{1,4}))?$/.exec(text) ?? [];
  if (whole === "") throw new Error(`"${text}" is not an amount in yuan: a decimal with at most four decimals`);
  const amount = BigInt(whole) * PER_YUAN + BigInt(part.padEnd(4, "0"));
  return sign === "-" ? -amount : amount;
}

/**
 * A unit price in yuan: price / 10000 / pricePrecision (interface: pricePrecision). Exact where the quotient has an end,
 * else rounded to 20 decimals; undefined when `price` is no decimal number or there is no precision to divide by.
 */
export function unitPrice(price: string, precision: number | undefined): string | undefined {
  const [, sign = "", whole = "", part = ""] = /^([+-]?)(\d{1,40})(?:\.(\d{1,40}))?$/.exec(price.trim()) ?? [];
  if (whole === "" || precision === undefined || !Number.isSafeInteger(precision) || precision <= 0) return undefined;
  const digits = BigInt(whole + part);
  return decimal(sign === "-" ? -digits : digits, 10n ** BigInt(part.length) * PER_YUAN * BigInt(precision));
}

/** An amount divided by a number above 0, in yuan, rounded to at most `most` decimals. */
export function formatQuotient(amount: Money, divisor: bigint, most: number): string {
  return decimal(amount, PER_YUAN * divisor, most);
}

/**
 * numerator / denominator (above 0) as a decimal string; rounded half away from zero where it has no end, or more decimals than
 * `most`.
 */
function decimal(numerator: bigint, denominator: bigint, most = Number.POSITIVE_INFINITY): string {
  const [magnitude, negative] = numerator < 0n ? [-numerator, true] : [numerator, false];
  const decimals = Math.min(most, decimalsOf(denominator / gcd(magnitude, denominator)));
  const scaled = magnitude * 10n ** BigInt(decimals);
  const rounded = (2n * scaled + denominator) / (2n * denominator);
  const digits = String(rounded).padStart(decimals + 1, "0");
  const whole = digits.slice(0, digits.length - decimals);
  const part = digits.slice(digits.length - decimals).replace(/0+$/, "");
  return `${negative && rounded !== 0n ? "-" : ""}${whole}${part === "" ? "" : `.${part}`}`;
}

/** How many decimals a fraction in lowest terms has: as many as its twos or fives, or no end. */
function decimalsOf(denominator: bigint): number {
  let [twos, fives, rest] = [0, 0, denominator];
  for (; rest % 2n === 0n; rest /= 2n) twos++;
  for (; rest % 5n === 0n; rest /= 5n) fives++;
  return rest === 1n ? Math.max(twos, fives) : ENDLESS_DECIMALS;
}

function gcd(a: bigint, b: bigint): bigint {
  return b === 0n ? a : gcd(b, a % b);
}
