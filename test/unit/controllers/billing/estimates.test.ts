import { Registry } from "prom-client";
import { expect, it } from "vitest";
import { createCostEstimates } from "../../../../src/controllers/billing/estimates.ts";
import type { NamespaceCreated } from "../../../../src/controllers/billing/open-split.ts";
import type { Usage } from "../../../../src/controllers/billing/usage.ts";
import { registerShowbackMetrics } from "../../../../src/operator/billing-metrics.ts";
import { createAccountBills } from "../../../../src/provider/money/spend.ts";
import { billOf, moneySettings, seconds } from "../../../support/bills.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { silentLog } from "../../../support/scripted-api-server.ts";

const ACCOUNT = "ClusterAccount/default";
const CREATED = seconds("2026-01-01T00:00:00Z");
const used = (namespace: string, quantity: number): Usage => ({
  account: ACCOUNT,
  namespace,
  object: "GpuEndpoint/chat",
  created: CREATED,
  meter: "product/product-1",
  day: "2026-03-02",
  quantity,
  requests: 0,
});
const billAt = (day: string, amount: string) =>
  billOf({
    amount,
    startTime: String(seconds(`${day}T00:00:00Z`)),
    endTime: String(seconds(`${day}T00:00:00Z`) + 86_400),
  });

/** The bills of February and March 2026, read on 3 March. */
function setUp(read: () => Promise<Usage[]>, namespaceCreated: NamespaceCreated = async () => CREATED) {
  const registry = new Registry();
  const clock = createFakeClock(Date.UTC(2026, 2, 3));
  const estimates = createCostEstimates({ ledger: { read }, namespaceCreated, clock, log: silentLog });
  registerShowbackMetrics(registry, () => estimates);
  const bills = createAccountBills({
    client: {
      listBills: async () => [billAt("2026-02-27", "5000"), billAt("2026-03-02", "10000"), billAt("2026-03-03", "7")],
    },
    settings: moneySettings(),
    onRead: () => {},
    onFailed: () => {},
    collectMonth: (range, zone, signal) => estimates.collect({ account: ACCOUNT, settings: {}, zone, range }, signal),
    clock,
    log: silentLog,
  });
  return { registry, clock, bills, estimates };
}

it("each reading of the bills shows what the month costs by namespace, and the sum is the cost of the month", async () => {
  const { registry, clock, bills } = setUp(async () => [used("film", 30), used("ads", 60), used("", 10)]);
  bills.start();
  await clock.advance(1_000);
  await bills.stop();
  const lines = (await registry.metrics()).split("\n").filter((line) => line.startsWith("mooring_"));
  expect(lines.sort()).toEqual([
    'mooring_estimated_cost_yuan{account="ClusterAccount/default",namespace=""} 0.1007',
    'mooring_estimated_cost_yuan{account="ClusterAccount/default",namespace="ads"} 0.6',
    'mooring_estimated_cost_yuan{account="ClusterAccount/default",namespace="film"} 0.3',
  ]);
  expect(bills.latest()?.month).toBe(10_007n);
});

it("a namespace that was made again inherits no cost in the metrics", async () => {
  const again = { ...used("film", 60), created: seconds("2026-03-02T12:00:00Z") };
  const { registry, clock, bills } = setUp(
    async () => [used("film", 30), again, used("ads", 10)],
    async (name) => (name === "film" ? seconds("2026-03-02T11:00:00Z") : undefined),
  );
  bills.start();
  await clock.advance(1_000);
  await bills.stop();
  const metrics = await registry.metrics();
  expect(metrics).toContain('namespace="film"} 0.6\n');
  expect(metrics).toContain('namespace="film (deleted)"} 0.3\n');
  expect(metrics).toContain('namespace="ads (deleted)"} 0.1\n');
});

it("bills are read although the usage cannot be", async () => {
  const { registry, clock, bills } = setUp(async () => {
    throw new Error("no permission");
  });
  bills.start();
  await clock.advance(1_000);
  await bills.stop();
  expect(bills.latest()?.month).toBe(10_007n);
  expect(await registry.metrics()).not.toContain("mooring_estimated_cost_yuan{");
});

it("an account that is deleted has no cost in the metrics any more", async () => {
  const w = setUp(async () => [used("a", 3_600)]);
  w.bills.start();
  await w.clock.advance(1_000);
  expect(await w.registry.metrics()).toContain(`{account="${ACCOUNT}"`);
  w.estimates.forget(ACCOUNT);
  expect([w.estimates.get(ACCOUNT), w.estimates.takeNew(ACCOUNT)]).toEqual([undefined, false]);
  expect(await w.registry.metrics()).not.toContain(`{account="${ACCOUNT}"`);
  await w.bills.stop();
});
