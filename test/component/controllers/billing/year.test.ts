import { describe, expect, it, onTestFinished } from "vitest";
import type { SplitBy } from "../../../../src/api/v1alpha1/bill-report.ts";
import { systemClock } from "../../../../src/base/clock.ts";
import { meterOfBills } from "../../../../src/controllers/billing/meters.ts";
import { createSplit, type SplitResult } from "../../../../src/controllers/billing/split.ts";
import { indexUsage } from "../../../../src/controllers/billing/usage.ts";
import type { Cycle } from "../../../../src/provider/money/ranges.ts";
import { timeZone } from "../../../../src/provider/money/time-zone.ts";
import { createRandom } from "../../../../src/simulator/random.ts";
import { createSimulator } from "../../../../src/simulator/server.ts";
import { type BillYear, billYear, postCharges, YEAR } from "../../../../tools/bills/bill-year.ts";
import { sessionAt } from "../../../support/service-account.ts";

/** The year as a simulator bills it over HTTP, split as a report does. */
async function splitYear(year: BillYear, cycle: Cycle): Promise<SplitResult> {
  const simulator = await createSimulator({ config: { apiKeys: ["one", "two"] } });
  onTestFinished(() => simulator.close());
  await postCharges(simulator.url, year);
  const zone = timeZone("UTC");
  const split = createSplit({ usage: indexUsage(year.usage), meterOf: meterOfBills(), zone });
  const { money } = sessionAt(simulator.url, { apiKey: "one" });
  const closedBefore = systemClock.now() / 1000;
  const { signal } = new AbortController();
  for await (const bills of money.bills({ query: { cycle }, period: YEAR, zone, closedBefore, signal })) {
    for (const bill of bills) split.add(bill);
  }
  return split.result();
}

const sumOf = (result: SplitResult, by: SplitBy) =>
  result.shares(by).reduce((sum, { amount }) => sum + amount, result.unattributed);

describe.each(["Day", "Week", "Month"] as const)("a year of simulated bills by %s", (cycle) => {
  it("is split without losing or adding a unit", async () => {
    const year = billYear(createRandom(2026).next, 0.9);
    const result = await splitYear(year, cycle);
    expect(result.total).toBe(year.total);
    expect(sumOf(result, "Namespace")).toBe(year.total);
    expect(sumOf(result, "Object")).toBe(year.total);
    expect(result.shares("Object").length).toBeGreaterThan(1_000);
    expect(result.unattributed).toBeGreaterThan(0n);
  });
});

it("with everything observed, a namespace's share of the year is within a thousandth of what it really cost", async () => {
  const year = billYear(createRandom(7).next, 1);
  const result = await splitYear(year, "Day");
  const shares = new Map(result.shares("Namespace").map(({ namespace, amount }) => [namespace, amount]));
  expect([...shares.keys()].sort()).toEqual(["ads", "film", "games", "news", "shop"]);
  for (const [namespace, amount] of [...shares, ["", result.unattributed] as const]) {
    const real = year.costs.get(namespace) ?? 0n;
    const difference = amount > real ? amount - real : real - amount;
    expect(difference * 1000n, `${namespace}: ${amount} of ${real}`).toBeLessThan(real);
  }
});
