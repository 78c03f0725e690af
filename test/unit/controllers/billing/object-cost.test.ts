import { describe, expect, it, test } from "vitest";
import type { GpuEndpointStatus } from "../../../../src/api/v1alpha1/gpu-endpoint.ts";
import { createAccountRegistry, type ReportableKeys } from "../../../../src/controllers/account/registry.ts";
import { type CostEstimates, createCostEstimates } from "../../../../src/controllers/billing/estimates.ts";
import { costOf, SHOW_MS, visibleEstimate, withEndpointCost } from "../../../../src/controllers/billing/object-cost.ts";
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
    expect((await visibleEstimate(await setUp(keys), bound, "team")).kind).toBe(kind);
  });
});

describe("the estimated cost of an endpoint", () => {
  const metadata = { namespace: "team", name: "echo", creationTimestamp: "2026-01-01T00:00:00Z" };
  const asOf = "2026-03-01T00:00:00Z";
  const status: GpuEndpointStatus = { conditions: [], endpointID: "ep-1", account: bound };
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
    const visible = await visibleEstimate(await setUp(), bound, "team");
    const written = withEndpointCost({ metadata, status: before }, after, visible, START + laterMs);
    expect(written.estimatedCost?.month).toBe(month);
  });

  it("is nothing of what an earlier endpoint of the same name cost", async () => {
    const visible = await visibleEstimate(await setUp(), bound, "team");
    const again = { ...metadata, creationTimestamp: "2026-01-15T00:00:00Z" };
    expect(withEndpointCost({ metadata: again }, status, visible, START).estimatedCost?.month).toBe("0");
  });

  it("goes when the namespace may not see it any more, and stays while it is unknown", () => {
    const endpoint = { metadata, status: shown };
    expect(withEndpointCost(endpoint, shown, { kind: "Hidden" }, START)).toEqual(status);
    expect(withEndpointCost(endpoint, shown, { kind: "Unknown" }, START)).toEqual(shown);
  });
});

describe("the estimated cost of a finished job", () => {
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
    expect(await costOf(await setUp(), job, undefined)).toEqual({ estimatedCost: "2" });
  });

  it("is absent when nothing was accepted, and where costs are hidden", async () => {
    expect(await costOf(await setUp(), job, { submission: { ...submission, state: "Refused" } })).toEqual({});
    expect(await costOf(await setUp({ kind: "Keys", keyIDs: [] }), job, undefined)).toEqual({});
  });
});
