import { expect } from "vitest";
import type { ObservedCall } from "./observed-service.ts";
import type { Operator } from "./world.ts";

/** What the log of an operator has when it got its lease. */
export const LEADING = '"msg":"leading"';

/** The calls of an operator, until another one calls. `times`: ms since the epoch. */
export type Reign = { operator: Pick<Operator, "pid" | "log">; times: number[] };

/**
 * The calls of one operator after the other. A call whose process ended before it could be found is one of the operator before it.
 * `operators`: those that may call, the one with the first call first.
 */
export function reignsOf(calls: readonly ObservedCall[], operators: readonly Reign["operator"][]): Reign[] {
  const reigns: Reign[] = [];
  for (const { pid, at } of calls) {
    const operator =
      pid === undefined ? (reigns.at(-1)?.operator ?? operators[0]) : operators.find((one) => one.pid === pid);
    if (operator === undefined) throw new Error(`process ${pid} calls, which the test does not know`);
    if (reigns.at(-1)?.operator !== operator) reigns.push({ operator, times: [] });
    reigns.at(-1)?.times.push(at);
  }
  return reigns;
}

/**
 * No call of an account is above its rate (requests per second). A leader starts without a burst, because it does not know what the leader
 * before it has just used. So the number of its calls is limited at each moment since it began to lead. A busy machine delays calls, and a
 * delayed call is one call less until then: no delay breaks this rule.
 */
export function expectRate({ operator, times }: Reign, rate: number): void {
  const since = leadingSince(operator);
  expect(since, `process ${operator.pid} leads`).toBeGreaterThan(0);
  const over = times.filter((at, index) => index + 1 > allowedCalls(rate, at - since));
  console.log(`${times.length} calls in ${((times.at(-1) ?? since) - since) / 1_000} s`);
  expect(over, `calls of process ${operator.pid}, which leads since ${since}, above the rate`).toEqual([]);
}

/** One call more for times that are rounded to a millisecond. */
function allowedCalls(rate: number, elapsedMs: number): number {
  return (rate * elapsedMs) / 1_000 + 1;
}

/**
 * When the process began to lead, ms since the epoch. Its bucket was empty then, or was made later. A process of a shard can give its lease
 * back before it calls: it leads since the last time that it got the lease.
 */
function leadingSince({ log }: Reign["operator"]): number {
  const line = log()
    .split("\n")
    .findLast((one) => one.includes(LEADING));
  return Date.parse((JSON.parse(line ?? "{}") as { time?: string }).time ?? "");
}
