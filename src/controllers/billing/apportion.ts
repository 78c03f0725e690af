import type { Money } from "../../base/money.ts";

/**
 * Splits an amount in proportion to weights by the largest-remainder method. The parts add up exactly to the amount, and each
 * part differs from its exact share by less than one unit. Parts with equal remainders get a unit in the order of the weights.
 * @param weights 0 or more; at least one above 0
 */
export function apportion(amount: Money, weights: readonly bigint[]): Money[] {
  const total = weights.reduce((sum, weight) => sum + weight, 0n);
  if (total <= 0n) throw new Error("an amount needs at least one weight above 0");
  const [magnitude, sign] = amount < 0n ? [-amount, -1n] : [amount, 1n];

  const parts = weights.map((weight) => (magnitude * weight) / total);
  const remainders = weights.map((weight, index) => ({ index, remainder: (magnitude * weight) % total }));
  const left = Number(magnitude - parts.reduce((sum, part) => sum + part, 0n));
  remainders.sort((a, b) => (a.remainder === b.remainder ? a.index - b.index : a.remainder > b.remainder ? -1 : 1));
  for (const { index } of remainders.slice(0, left)) parts[index] = (parts[index] ?? 0n) + 1n;

  return parts.map((part) => part * sign);
}
