import { describe, expect, it, test } from "vitest";
import type { GpuEndpointStatus } from "../../../../src/api/v1alpha1/gpu-endpoint.ts";
import type { ReportableKeys } from "../../../../src/controllers/account/namespaces.ts";
import { createAccountRegistry } from "../../../../src/controllers/account/registry.ts";
import { type CostEstimates, createCostEstimates } from "../../../../src/controllers/billing/estimates.ts";
import { costOf, SHOW_MS, visibleCosts, withEndpointCost } from "../../../../src/controllers/billing/object-cost.ts";
import { readPrices } from "../../../../src/controllers/billing/prices.ts";
import type { Usage } from "../../../../src/controllers/billing/usage.ts";
import { timeZone } from "../../../../src/provider/money/time-zone.ts";
import { billOf, seconds } from "../../../support/bills.ts";
import { createFakeClock, START } from "../../../support/fake-clock.ts";
import { videoJobOf } from "../../../support/jobs.ts";
import { silentLog } from "../../../support/scripted-api-server.ts";
import { accountAt } from "../../../support/service-account.ts";

const ACCOUNT = "ClusterAccount/shared";
const bound = { kind: "ClusterAccount", name: "shared", baseURL: "https://api.example.com" } as const;
const used = (change: Partial<Usage>): Usage => ({
  account: ACCOUNT,
  namespace: "team",
  object: "GpuEndpoint/echo",
  created: seconds("2026-01-01T00:00:00Z"),
  meter: "product/product-1",
  day: "2026-01-01",
  quantity: 10,
  requests: 0,
  ...change,
});

/** Estimates of an account with a bill of 1 yuan for an endpoint and one of 3 yuan for 15 seconds of video. */
async function setUp(keys: ReportableKeys = { kind: "All" }): Promise<{
  estimates: CostEstimates;
  accounts: ReturnType<typeof createAccountRegistry>;
}> {
  const usage = [used({}), used({ object: "VideoJob/old", meter: "model/vid-i2v", quantity: 15, requests: 3 })];
  const clock = createFakeClock();
  const estimates = createCostEstimates({
    ledger: { read: async () => usage },
    namespaceCreated: async () => 0,
    clock,
    log: silentLog,
  });
  const range = { startTime: seconds("2026-01-01T00:00:00Z"), endTime: seconds("2026-02-01T00:00:00Z") };
  const request = { account: ACCOUNT, settings: {}, zone: timeZone("UTC"), range };
  const collector = await estimates.collect(request, new AbortController().signal);
  collector?.add(billOf({ amount: "10000" }));
  collector?.add(billOf({ amount: "30000", productId: "vid-i2v" }));
  collector?.complete();
  const accounts = createAccountRegistry(
    () => true,
    () => {},
  );
  const handle = accountAt("https://api.example.com", { key: ACCOUNT, reportableKeys: async () => keys });
  accounts.set(ACCOUNT, { state: { kind: "Ready" }, handle });
  return { estimates, accounts };
}

describe("a namespace sees estimates of a ClusterAccount", () => {
  test.each([
    { name: "when it may see all bills", keys: { kind: "All" }, kind: "Shown" },
    { name: "when it may see its own share", keys: { kind: "OwnShare" }, kind: "Shown" },
    { name: "not without an entry in spending.reports", keys: { kind: "Keys", keyIDs: [] }, kind: "Hidden" },
  ] as const)("$name", async ({ keys, kind }) => {
    expect((await visibleCosts(await setUp(keys), ACCOUNT, "team")).kind).toBe(kind);
  });
});

describe("the estimated cost of an endpoint", () => {
  const metadata = { namespace: "team", name: "echo", creationTimestamp: "2026-01-01T00:00:00Z" };
  const asOf = "2026-03-01T00:00:00Z";
  const spec = { products: [{ id: "product-1" }], suspend: false, workers: { max: 3, gpus: 2 } };
  const status: GpuEndpointStatus = { conditions: [], endpointID: "ep-1", account: bound, workers: { total: 1 } };
  const shown: GpuEndpointStatus = { ...status, estimatedCost: { month: "0.4", asOf } };

  it.each([
    { name: "is shown", before: status, after: status, laterMs: 0, month: "1" },
    {
      name: "stays for a day when nothing else changes",
      before: shown,
      after: shown,
      laterMs: SHOW_MS - 1,
      month: "0.4",
    },
    { name: "is renewed after a day", before: shown, after: shown, laterMs: SHOW_MS, month: "1" },
    {
      name: "is renewed with any other change",
      before: shown,
      after: { ...shown, state: "running" },
      laterMs: 1,
      month: "1",
    },
    {
      name: "is absent without an endpoint",
      before: { conditions: [] },
      after: { conditions: [] },
      laterMs: 0,
      month: undefined,
    },
  ])("$name", async ({ before, after, laterMs, month }) => {
    const visible = await visibleCosts(await setUp(), ACCOUNT, "team");
    const written = withEndpointCost({ metadata, spec, status: before }, after, visible, START + laterMs);
    expect(written.estimatedCost?.month).toBe(month);
  });

  it("of an hour is that of all cards of the workers, now and at most, at the highest price of its products", async () => {
    const shared = await setUp();
    shared.estimates.restorePrices(
      ACCOUNT,
      readPrices([
        { name: "product-1", unit: "CardHour", price: "0.5", asOf: "2026-01-01T00:00:00Z" },
        { name: "product-2", unit: "CardHour", price: "1000.25", asOf: "2026-01-01T00:00:00Z" },
      ]),
    );
    const visible = await visibleCosts(shared, ACCOUNT, "team");
    // A bill of 1 yuan for 10 card-seconds is newer than the restored price.
    expect(withEndpointCost({ metadata, spec }, status, visible, START).estimatedCost).toMatchObject({
      hour: "720",
      maxHour: "2160",
    });
    const both = { ...spec, products: [{ id: "product-1" }, { id: "product-2" }] };
    expect(withEndpointCost({ metadata, spec: both }, status, visible, START).estimatedCost).toMatchObject({
      hour: "2000.5",
    });
    const unknown = { ...spec, products: [{ id: "product-1" }, { id: "product-9" }] };
    const { estimatedCost } = withEndpointCost({ metadata, spec: unknown }, status, visible, START);
    expect(estimatedCost).toEqual({ month: "1", asOf: estimatedCost?.asOf });
    const suspended = { ...spec, suspend: true };
    expect(withEndpointCost({ metadata, spec: suspended }, status, visible, START).estimatedCost?.maxHour).toBe("0");
  });

  it("is nothing of what an earlier endpoint of the same name cost", async () => {
    const visible = await visibleCosts(await setUp(), ACCOUNT, "team");
    const again = { ...metadata, creationTimestamp: "2026-01-15T00:00:00Z" };
    expect(withEndpointCost({ metadata: again, spec }, status, visible, START).estimatedCost?.month).toBe("0");
  });

  it("goes when the namespace may not see it any more, and stays while it is unknown", () => {
    const endpoint = { metadata, spec, status: shown };
    expect(withEndpointCost(endpoint, shown, { kind: "Hidden" }, START)).toEqual(status);
    expect(withEndpointCost(endpoint, shown, { kind: "Unknown" }, START)).toEqual(shown);
  });
});

describe("the estimated cost of a job", () => {
  const submission = { id: "one", specHash: "", attempt: 1, state: "Accepted", time: "2026-03-01T00:00:00Z" } as const;
  const job = videoJobOf(
    "image",
    {},
    {
      conditions: [],
      account: bound,
      submission,
      attempts: 2,
      consumption: { unit: "Seconds", quantity: 5 },
    },
  );

  it("is its consumption at the price of the model, for all attempts", async () => {
    expect(await costOf(await setUp(), job, { ended: true })).toEqual({ estimatedCost: "2" });
  });

  it("is that of one attempt before the end, and stays as it was first shown", async () => {
    const shared = await setUp();
    expect(await costOf(shared, job, { ended: false })).toEqual({ estimatedCost: "1" });
    expect(await costOf(shared, job, { ended: false, estimatedCost: "0.5" })).toEqual({ estimatedCost: "0.5" });
  });

  it("is not computed while a request waits for its record", async () => {
    expect(
      await costOf(await setUp(), job, { ended: false, submission: { ...submission, state: "Intended" } }),
    ).toEqual({});
  });

  it("is absent when nothing was accepted, and where costs are hidden", async () => {
    expect(await costOf(await setUp(), job, { ended: true, submission: { ...submission, state: "Refused" } })).toEqual(
      {},
    );
    expect(await costOf(await setUp({ kind: "Keys", keyIDs: [] }), job, { ended: true })).toEqual({});
  });
});
