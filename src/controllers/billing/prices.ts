import type { AccountStatus } from "../../api/v1alpha1/account.ts";
import { rfc3339 } from "../../base/clock.ts";
import { formatQuotient, type Money } from "../../base/money.ts";
import { OPERATION_NAMES, OPERATIONS, taskOf } from "../../provider/operations.ts";
import { countsWorkers, type Meter, productMeter } from "./meters.ts";

/**
 * The last known price of a meter: `amount` buys `quantity` units. `asOf`: the end of the newest bill that shows it, ms since the
 * epoch.
 */
export type Price = { amount: Money; quantity: bigint; asOf: number };
export type Prices = ReadonlyMap<Meter, Price>;

type ShownPrice = NonNullable<AccountStatus["prices"]>[number];
type Unit = ShownPrice["unit"];

/** Units of the meter (card-seconds, characters, seconds) in the unit of a status. */
const QUANTITY: Record<Unit, bigint> = { CardHour: 3_600n, ThousandCharacters: 1_000n, Second: 1n };
/** Most prices of a status. */
export const SHOWN_PRICES = 100;
const DECIMALS = 8;
const SHOWN = /^(\d{1,30})(?:\.(\d{1,8}))?$/;
/** 1/10000 yuan. */
const YUAN_DECIMALS = 4;

/** What a quantity costs, rounded to the nearest 1/10000 yuan. */
export function costAt({ amount, quantity }: Omit<Price, "asOf">, units: bigint): Money {
  return (2n * amount * units + quantity) / (2n * quantity);
}

/** `status.prices`, by name. */
export function shownPrices(prices: Prices): ShownPrice[] {
  const shown = [...prices].map(([meter, { amount, quantity, asOf }]): ShownPrice => {
    const unit = unitOf(meter);
    const price = formatQuotient(amount * QUANTITY[unit], quantity, DECIMALS);
    return { name: meter.slice(meter.indexOf("/") + 1), unit, price, asOf: rfc3339(asOf) };
  });
  return shown.sort((a, b) => (a.name < b.name ? -1 : 1)).slice(0, SHOWN_PRICES);
}

/** The prices that a status shows. */
export function readPrices(shown: readonly ShownPrice[] = []): Prices {
  const prices = new Map<Meter, Price>();
  for (const { name, unit, price, asOf } of shown) {
    const [, whole = "", part = ""] = SHOWN.exec(price) ?? [];
    const meter: Meter = unit === "CardHour" ? productMeter(name) : `model/${name}`;
    if (whole === "" || unitOf(meter) !== unit) continue;
    const amount = BigInt(whole + part) * 10n ** BigInt(YUAN_DECIMALS);
    prices.set(meter, { amount, quantity: QUANTITY[unit] * 10n ** BigInt(part.length), asOf: Date.parse(asOf) });
  }
  return prices;
}

function unitOf(meter: Meter): Unit {
  if (countsWorkers(meter)) return "CardHour";
  const operation = OPERATION_NAMES.find((name) => meter === `model/${OPERATIONS[name].model}`);
  return operation !== undefined && taskOf(operation)?.result === "Video" ? "Second" : "ThousandCharacters";
}
