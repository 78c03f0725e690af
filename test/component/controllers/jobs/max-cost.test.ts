import { expect, it } from "vitest";
import { createCostEstimates } from "../../../../src/controllers/billing/estimates.ts";
import { readPrices } from "../../../../src/controllers/billing/prices.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { videoJobOf } from "../../../support/jobs.ts";
import { silentLog } from "../../../support/scripted-api-server.ts";
import { accountAt } from "../../../support/service-account.ts";
import { jobApi, jobReconciler } from "./world.ts";

const ACCOUNT = "Account/team/default";

/** The conditions Ready of a job of five seconds after each reconcile, while the price of a second is as given. */
async function readyAt(maxCost: string, prices: (string | undefined)[], attempts = 0) {
  const clock = createFakeClock();
  const estimates = createCostEstimates({
    ledger: { read: async () => [] },
    namespaceCreated: async () => 0,
    clock,
    log: silentLog,
  });
  const job = videoJobOf("image", { maxCost }, { conditions: [], attempts });
  const api = await jobApi(job);
  const w = jobReconciler(api.client, job, { handles: [accountAt("https://api.example.com")], clock, estimates });
  const shown: (string | undefined)[] = [];
  for (const price of prices) {
    const asOf = "2026-03-01T00:00:00Z";
    estimates.forget(ACCOUNT);
    if (price !== undefined) {
      estimates.restorePrices(ACCOUNT, readPrices([{ name: "vid-i2v", unit: "Second", price, asOf }]));
    }
    await w.reconcile();
    const ready = w.stored()?.status?.conditions.find(({ type }) => type === "Ready");
    shown.push(`${ready?.reason}: ${ready?.message}`);
  }
  return { shown, isUnderWay: w.running.find(job.metadata.uid) !== undefined };
}

it("a job is not sent while it would cost more than its maxCost, or its price is not known", async () => {
  const { shown, isUnderWay } = await readyAt("2.5", [undefined, "0.6"]);
  expect(shown).toEqual([
    expect.stringMatching(/^PriceUnknown: .*submitImageToVideo/),
    expect.stringMatching(/^CostTooHigh: .*about 3 yuan, spec.maxCost is 2.5/),
  ]);
  expect(isUnderWay).toBe(false);
});

it("a job is sent when its cost is at most its maxCost, earlier attempts included", async () => {
  expect((await readyAt("2.5", ["0.5"])).isUnderWay).toBe(true);
  expect((await readyAt("2.5", ["0.5"], 1)).isUnderWay).toBe(false);
  expect((await readyAt("5", ["0.5"], 1)).isUnderWay).toBe(true);
});
