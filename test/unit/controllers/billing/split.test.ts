import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { meterOfBills } from "../../../../src/controllers/billing/meters.ts";
import { createSplit } from "../../../../src/controllers/billing/split.ts";
import { indexUsage, type Usage } from "../../../../src/controllers/billing/usage.ts";
import { timeZone } from "../../../../src/provider/money/time-zone.ts";
import { billOf, seconds } from "../../../support/bills.ts";

const GPU = "product/gpu-1";
const VIDEO = "model/vid-i2v";
const used = (change: Partial<Usage>): Usage => ({
  account: "ClusterAccount/default",
  namespace: "a",
  object: "GpuEndpoint/chat",
  created: 1_767_000_000,
  meter: GPU,
  day: "2026-01-01",
  quantity: 3_600,
  requests: 0,
  ...change,
});
const gpuBill = (change: Record<string, unknown> = {}) =>
  billOf({ productId: "gpu-1", category: "gpu", amount: "1000", ...change });
const videoBill = (change: Record<string, unknown> = {}) =>
  billOf({ productId: "vid-i2v", category: "gen_api", amount: "1000", ...change });

function split(usage: readonly Usage[], bills: readonly ReturnType<typeof billOf>[]) {
  const all = createSplit({ usage: indexUsage(usage), meterOf: meterOfBills(), zone: timeZone("UTC") });
  for (const bill of bills) all.add(bill);
  const { total, unattributed, shares } = all.result();
  const named = Object.fromEntries(
    shares("Object").map(({ namespace, object, amount }) => [`${namespace} ${object}`, amount]),
  );
  return { total, unattributed, shares: named };
}

describe("a GPU bill", () => {
  const both = [used({}), used({ namespace: "b", quantity: 7_200 })];

  it("is split by card-seconds of the endpoints with its product", () => {
    expect(split(both, [gpuBill()])).toEqual({
      total: 1000n,
      unattributed: 0n,
      shares: { "b GpuEndpoint/chat": 667n, "a GpuEndpoint/chat": 333n },
    });
  });

  it("leaves what it pays for beyond the observed seconds unattributed", () => {
    // 1000 units at 250 an hour are 4 card-hours; 3 were observed.
    expect(split(both, [gpuBill({ discountPrice0: "250" })])).toMatchObject({
      unattributed: 250n,
      shares: { "a GpuEndpoint/chat": 250n, "b GpuEndpoint/chat": 500n },
    });
  });

  it("counts endpoints that no object owns as unattributed", () => {
    expect(split([used({}), used({ namespace: "", object: "" })], [gpuBill()])).toMatchObject({
      unattributed: 500n,
      shares: { "a GpuEndpoint/chat": 500n },
    });
  });

  it("of two API keys is compared with the seconds once", () => {
    const price = { discountPrice0: "250" };
    // 8 card-hours in two bills; 4 were observed.
    const four = [used({}), used({ namespace: "b", quantity: 3 * 3_600 })];
    expect(split(four, [gpuBill({ ...price, ownerID: "one" }), gpuBill({ ...price, ownerID: "two" })])).toMatchObject({
      total: 2000n,
      unattributed: 1000n,
      shares: { "a GpuEndpoint/chat": 250n, "b GpuEndpoint/chat": 750n },
    });
  });

  it("of another product, of another day or without a period is unattributed", () => {
    const bills = [
      gpuBill({ productId: "gpu-2" }),
      gpuBill({ startTime: String(seconds("2026-01-02T00:00:00Z")), endTime: String(seconds("2026-01-03T00:00:00Z")) }),
      gpuBill({ startTime: "" }),
    ];
    expect(split(both, bills)).toEqual({ total: 3000n, unattributed: 3000n, shares: {} });
  });

  it("of a month is split by the usage of all its days", () => {
    const days = [used({ day: "2026-01-01" }), used({ namespace: "b", day: "2026-01-31", quantity: 10_800 })];
    const month = { endTime: String(seconds("2026-02-01T00:00:00Z")) };
    expect(split(days, [gpuBill(month)]).shares).toEqual({ "b GpuEndpoint/chat": 750n, "a GpuEndpoint/chat": 250n });
  });

  it("of more than a month is no bill of the service's cycles: nobody is known to have used it", () => {
    const year = { endTime: String(seconds("2027-01-01T00:00:00Z")) };
    expect(split(both, [gpuBill(year)])).toEqual({ total: 1000n, unattributed: 1000n, shares: {} });
  });

  it("that is a refund is given back in the same proportion", () => {
    expect(split(both, [gpuBill({ amount: "-9" })])).toMatchObject({
      shares: { "a GpuEndpoint/chat": -3n, "b GpuEndpoint/chat": -6n },
    });
  });
});

describe("a generation bill", () => {
  const job = (name: string, quantity: number): Usage =>
    used({ meter: VIDEO, object: `VideoJob/${name}`, quantity, requests: 1 });

  it("is split by what the jobs of the operation consumed", () => {
    expect(split([job("one", 5), job("two", 15)], [videoBill()]).shares).toEqual({
      "a VideoJob/one": 250n,
      "a VideoJob/two": 750n,
    });
  });

  it("leaves the requests that no job explains unattributed, at the average of the jobs", () => {
    expect(split([job("one", 5), job("two", 15)], [videoBill({ requestCount: "4" })])).toMatchObject({
      unattributed: 500n,
      shares: { "a VideoJob/one": 125n, "a VideoJob/two": 375n },
    });
  });

  test.each([
    { name: "the model as product name", change: { productId: "p-77", productName: "VID-I2V" } },
    { name: "the path's last part as product ID", change: { productId: "vid-i2v", productName: "Video" } },
  ])("is found by $name", ({ change }) => {
    expect(split([job("one", 5)], [videoBill(change)]).unattributed).toBe(0n);
  });

  it("is found by billing.products", () => {
    const meterOf = meterOfBills([{ operation: "submitSpeech", product: "Narration Pro" }]);
    expect(meterOf({ productID: "p-9", productName: "narration pro" })).toBe("model/speech-2.6-hd");
  });
});

test("whatever is billed and used, the parts add up exactly to the bills, in any order of the bills", () => {
  const names = fc.constantFrom("", "a", "b", "c");
  const usage = fc.array(
    fc.record({
      namespace: names,
      object: names,
      meter: fc.constantFrom<Usage["meter"]>(GPU, VIDEO),
      day: fc.constantFrom("2026-01-01", "2026-01-02"),
      quantity: fc.nat(1_000_000),
      requests: fc.nat(20),
    }),
  );
  const bill = fc.record({
    productId: fc.constantFrom("gpu-1", "vid-i2v", "llm"),
    ownerID: fc.constantFrom("one", "two"),
    amount: fc.maxSafeInteger().map(String),
    discountPrice0: fc.constantFrom("0", "12.5", "999", "?"),
    requestCount: fc.constantFrom("", "0", "7", "100"),
    endTime: fc.constantFrom("1767312000", "1767398400", ""),
  });
  fc.assert(
    fc.property(usage, fc.array(bill), (parts, bills) => {
      const records = parts.map((part) => used(part));
      const result = split(records, bills.map(billOf));
      const straight = bills.reduce((sum, { amount }) => sum + BigInt(amount), 0n);
      const shared = Object.values(result.shares).reduce((sum, share) => sum + share, 0n);
      expect(result.total).toBe(straight);
      expect(shared + result.unattributed).toBe(straight);
      expect(split(records, bills.map(billOf).reverse())).toEqual(result);
    }),
  );
});
