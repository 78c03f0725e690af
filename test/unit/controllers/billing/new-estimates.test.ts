import { expect, it } from "vitest";
import { createCostEstimates } from "../../../../src/controllers/billing/estimates.ts";
import { timeZone } from "../../../../src/provider/money/time-zone.ts";
import { seconds } from "../../../support/bills.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { silentLog } from "../../../support/scripted-api-server.ts";

const ACCOUNT = "Account/team/default";

function setUp() {
  const clock = createFakeClock();
  const estimates = createCostEstimates({
    ledger: { read: async () => [] },
    namespaceCreated: async () => undefined,
    clock,
    log: silentLog,
  });
  const range = { startTime: seconds("2026-03-01T00:00:00Z"), endTime: seconds("2026-04-01T00:00:00Z") };
  const request = { account: ACCOUNT, settings: {}, zone: timeZone("UTC"), range };
  return {
    clock,
    estimates,
    async readBills() {
      const collector = await estimates.collect(request, new AbortController().signal);
      collector?.complete();
    },
  };
}

it("bills that were never read make no estimate, so no endpoint is reconciled for it", () => {
  expect(setUp().estimates.takeNew(ACCOUNT)).toBe(false);
});

it("endpoints are reconciled once for each reading of the bills, and not for what follows without one", async () => {
  const w = setUp();
  await w.readBills();
  expect([w.estimates.takeNew(ACCOUNT), w.estimates.takeNew(ACCOUNT)]).toEqual([true, false]);
  expect(w.estimates.takeNew("Account/team/other")).toBe(false);
  await w.clock.advance(60_000);
  await w.readBills();
  expect([w.estimates.takeNew(ACCOUNT), w.estimates.takeNew(ACCOUNT)]).toEqual([true, false]);
});
