import { describe, expect, it } from "vitest";
import { billDay } from "../../../../src/controllers/billing/bill-day.ts";
import { ownerOfJob } from "../../../../src/controllers/billing/job-owner.ts";
import { createUsageRecorder, NOBODY } from "../../../../src/controllers/billing/recorder.ts";
import type { Usage } from "../../../../src/controllers/billing/usage.ts";
import type { EndpointRecord } from "../../../../src/provider/endpoints/endpoint-record.ts";
import { desiredOf, endpointOf, recordOf } from "../../../support/endpoints.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";

const ACCOUNT = "ClusterAccount/default";

function setUp() {
  const clock = createFakeClock();
  const usage: Usage[] = [];
  const recorder = createUsageRecorder({
    ledger: { add: (one) => void usage.push(one) },
    shareCosts: { add: () => {} },
    ownerOfJob: (kind, job) => ownerOfJob({ get: () => undefined }, kind, job),
    ownerOf: (_account, id) => (id === "ours" ? { namespace: "film", object: "GpuEndpoint/chat", created: 7 } : NOBODY),
    timeZoneOf: () => "Asia/Shanghai",
    clock,
  });
  return { clock, usage, recorder };
}

const worker = {
  id: "w",
  status: { status: "ready", error: "", message: "" },
  log: "",
  healthy: true,
  draining: false,
};
const endpoint = (id: string, workers: number, gpus = 2): EndpointRecord => {
  const record = recordOf(desiredOf(endpointOf()));
  return {
    ...record,
    id,
    productID: "gpu-1",
    workers: Array.from({ length: workers }, () => worker),
    scaling: { ...record.scaling, gpus },
  };
};

describe("the usage of endpoints", () => {
  it("is cards times the time from one list to the next", async () => {
    const { clock, usage, recorder } = setUp();
    recorder.listed(ACCOUNT, [endpoint("ours", 3), endpoint("theirs", 1), endpoint("idle", 0)]);
    expect(usage).toEqual([]);
    await clock.advance(60_000);
    recorder.listed(ACCOUNT, [endpoint("ours", 1)]);
    const common = { account: ACCOUNT, meter: "product/gpu-1", day: "2026-03-01", requests: 0 };
    expect(usage).toEqual([
      { ...common, namespace: "film", object: "GpuEndpoint/chat", created: 7, quantity: 3 * 2 * 60 },
      { ...common, ...NOBODY, quantity: 2 * 60 },
    ]);
    await clock.advance(30_000);
    recorder.listed(ACCOUNT, []);
    expect(usage.at(-1)?.quantity).toBe(2 * 30);
    await clock.advance(30_000);
    recorder.listed(ACCOUNT, []);
    expect(usage).toHaveLength(3);
  });

  it("counts no more than an hour between two lists", async () => {
    const { clock, usage, recorder } = setUp();
    recorder.listed(ACCOUNT, [endpoint("ours", 1, 1)]);
    await clock.advance(86_400_000);
    recorder.listed(ACCOUNT, []);
    expect(usage.map(({ quantity }) => quantity)).toEqual([3_600]);
  });
});

it("the usage of a job is what its accepted request asks for", () => {
  const { usage, recorder } = setUp();
  const job = { namespace: "film", object: "VideoJob/intro", created: 7 };
  recorder.accepted({ account: ACCOUNT, ...job, operation: "submitVideoToVideo", quantity: 10 });
  expect(usage).toEqual([
    { account: ACCOUNT, ...job, meter: "model/vid2.6-v2v", day: "2026-03-01", quantity: 10, requests: 1 },
  ]);
});

it.each([
  { zone: "UTC", day: "2026-02-28" },
  { zone: "Asia/Shanghai", day: "2026-03-01" },
  { zone: "nowhere", day: "2026-02-28" },
])("a day begins at midnight in $zone", ({ zone, day }) => {
  expect(billDay(zone, Date.parse("2026-02-28T20:00:00Z"))).toBe(day);
});
