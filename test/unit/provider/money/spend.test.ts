import { expect, it, onTestFinished } from "vitest";
import type { Bill } from "../../../../src/provider/money/money-records.ts";
import { createAccountBills } from "../../../../src/provider/money/spend.ts";
import { billOf, moneySettings } from "../../../support/bills.ts";
import { createFakeClock, START } from "../../../support/fake-clock.ts";
import { silentLog } from "../../../support/scripted-api-server.ts";

const DAY_SECONDS = 86_400;

/** What an account shows of these bills on 2026-03-01, a Sunday. */
async function spendOf(bills: readonly Bill[]) {
  const clock = createFakeClock();
  const reader = createAccountBills({
    client: {
      listBills: async ({ startTime, endTime }) =>
        bills.filter((bill) => (bill.startTime ?? 0) >= startTime && (bill.startTime ?? 0) < endTime),
    },
    settings: moneySettings(),
    onRead: () => {},
    onFailed: () => {},
    clock,
    log: silentLog,
  });
  reader.start();
  onTestFinished(() => reader.stop());
  await clock.advance(1_000);
  return reader.latest();
}

const today = (amount: string, category = "llm") =>
  billOf({ startTime: START / 1000, endTime: START / 1000 + DAY_SECONDS, amount, category });
const yesterday = (amount: string) =>
  billOf({ startTime: START / 1000 - DAY_SECONDS, endTime: START / 1000, amount, category: "llm" });

it("sums the bills of day, week and month", async () => {
  expect(await spendOf([today("20000"), today("5.0", "gen_api"), yesterday("3")])).toMatchObject({
    day: 20_005n,
    week: 20_008n,
    month: 20_005n,
    unreadable: 0,
    byCategory: new Map([
      ["llm", 20_000n],
      ["gen_api", 5n],
    ]),
  });
});

it("tells at most 10,000 categories apart", async () => {
  const spend = await spendOf(Array.from({ length: 10_050 }, (_, i) => today("1", `c-${i}`)));
  expect([spend?.byCategory.size, spend?.byCategory.get("(other)"), spend?.month]).toEqual([10_001, 50n, 10_050n]);
});

it.each(["20000.5", "", "much"])("does not count a bill of %j as zero: each sum over it is unknown", async (amount) => {
  expect(await spendOf([today("7"), today(amount, "gen_api"), yesterday("3")])).toMatchObject({
    day: undefined,
    week: undefined,
    month: undefined,
    unreadable: 1,
    byCategory: new Map([["llm", 7n]]),
  });
});

it("knows the sums that an unreadable bill is not a part of", async () => {
  expect(await spendOf([today("7"), yesterday("0.5")])).toMatchObject({ day: 7n, week: undefined, month: 7n });
});
