import { expect } from "vitest";
import type { ObservedCall } from "./observed-service.ts";
import { eventually, type Operator } from "./world.ts";

type Process = Pick<Operator, "pid" | "log">;

/** The lines of a log with this message, as objects. */
function linesOf({ log }: Pick<Operator, "log">, message: string): { time: string; [field: string]: unknown }[] {
  const lines = log().split("\n");
  return lines.filter((line) => line.includes(`"msg":"${message}"`)).map((line) => JSON.parse(line));
}

/** The name of the process and of its lease; undefined before it has one. */
export function leaseOf(operator: Pick<Operator, "log">): string | undefined {
  const [line] = linesOf(operator, "joined the installation");
  return line === undefined ? undefined : String(line["lease"]).split("/")[1];
}

/** Whether the process has its lists, and may serve accounts. */
export const isStarted = (operator: Pick<Operator, "log">): boolean =>
  linesOf(operator, "controllers started").length > 0;

export const untilStarted = (operator: Pick<Operator, "log">): Promise<true> =>
  eventually("the process has its lists", async () => isStarted(operator));

/** When the process began to serve the account, ms since the epoch, and why it was free. Undefined: it never did. */
export function servingOf(
  operator: Pick<Operator, "log">,
  account: string,
): { at: number; reason: string } | undefined {
  const line = linesOf(operator, "this process serves the account").findLast((one) => one["account"] === account);
  return line === undefined ? undefined : { at: Date.parse(line.time), reason: String(line["reason"]) };
}

export const untilServing = (operator: Pick<Operator, "log">, account: string) =>
  eventually(`the process serves ${account}`, async () => servingOf(operator, account));

/** The calls of a process for an account, until another process calls. `times`: ms since the epoch. */
export type Turn = { operator: Process; times: number[] };

/**
 * The calls of one process after the other. A call whose process ended before it could be found is one of the process before it.
 * `operators`: those that may call, the one with the first call first.
 */
export function turnsOf(calls: readonly ObservedCall[], operators: readonly Process[]): Turn[] {
  const turns: Turn[] = [];
  for (const { pid, at } of calls) {
    const operator =
      pid === undefined ? (turns.at(-1)?.operator ?? operators[0]) : operators.find((one) => one.pid === pid);
    if (operator === undefined) throw new Error(`process ${pid} calls, which the test does not know`);
    if (turns.at(-1)?.operator !== operator) turns.push({ operator, times: [] });
    turns.at(-1)?.times.push(at);
  }
  return turns;
}

/**
 * No call of an account is above its rate (requests per second). A server begins without a burst, because it does not know what the server
 * before it has just used. So the number of its calls is limited at each moment since it began to serve. A busy machine delays calls, and a
 * delayed call is one call less until then: no delay breaks this rule.
 */
export function expectRate({ operator, times }: Turn, account: string, rate: number): void {
  const since = servingOf(operator, account)?.at ?? Number.NaN;
  expect(since, `process ${operator.pid} serves ${account}`).toBeGreaterThan(0);
  const over = times.filter((at, index) => index + 1 > allowedCalls(rate, at - since));
  console.log(`${times.length} calls in ${((times.at(-1) ?? since) - since) / 1_000} s`);
  expect(over, `calls of process ${operator.pid}, which serves ${account} since ${since}, above the rate`).toEqual([]);
}

/** One call more for times that are rounded to a millisecond. */
function allowedCalls(rate: number, elapsedMs: number): number {
  return (rate * elapsedMs) / 1_000 + 1;
}
