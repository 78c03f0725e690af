import { describe, expect, it } from "vitest";
import type { Usage } from "../../../../src/controllers/billing/usage.ts";
import { createUsageMonth, parseUsageMonth } from "../../../../src/controllers/billing/usage-month.ts";

const used = (change: Partial<Usage> = {}): Usage => ({
  account: "ClusterAccount/default",
  namespace: "film",
  object: "GpuEndpoint/chat",
  created: 1_772_000_000,
  meter: "product/gpu-1",
  day: "2026-03-05",
  quantity: 60,
  requests: 0,
  ...change,
});

describe("the usage of a month", () => {
  it("adds up what an object consumes on a day", () => {
    const month = createUsageMonth("2026-03");
    month.add(used());
    month.add(used({ quantity: 30.5 }));
    month.add(used({ day: "2026-03-06" }));
    expect(month.list()).toEqual([used({ quantity: 90.5 }), used({ day: "2026-03-06" })]);
  });

  it("tells an object from an earlier one of the same name", () => {
    const month = createUsageMonth("2026-03");
    const again = used({ created: 1_772_600_000, quantity: 5 });
    for (const usage of [used(), again]) month.add(usage);
    expect(parseUsageMonth("2026-03", month.format(1_000).text).list()).toEqual([used(), again]);
  });

  it("of which a line lacks the creation time of its object was not written by Mooring", () => {
    const line = JSON.stringify(["ClusterAccount/default", "film", "GpuEndpoint/chat", "product/gpu-1", {}]);
    expect(() => parseUsageMonth("2026-03", line)).toThrow();
  });

  it("is the same after it is written and read", () => {
    const month = createUsageMonth("2026-03");
    const all = [
      used(),
      used({ namespace: "", object: "", created: 0 }),
      used({ account: "Account/a/b", meter: "model/vid-i2v", requests: 2 }),
    ];
    for (const usage of all) month.add(usage);
    expect(parseUsageMonth("2026-03", month.format(1_000).text).list()).toEqual(all);
  });

  it("that is too large keeps every namespace's usage and the objects that were used last", () => {
    const month = createUsageMonth("2026-03");
    const day = (number: number) => `2026-03-${String(number).padStart(2, "0")}`;
    for (let number = 1; number <= 31; number++) {
      for (let job = 0; job < 20; job++) month.add(used({ object: `VideoJob/${number}-${job}`, day: day(number) }));
    }
    const { text, lost } = month.format(20_000);
    expect(lost).toEqual([]);
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(20_000);
    const kept = parseUsageMonth("2026-03", text).list();
    expect(kept.reduce((sum, { quantity }) => sum + quantity, 0)).toBe(31 * 20 * 60);
    expect(kept.map(({ object }) => object)).toContain("VideoJob/31-0");
    expect(kept.map(({ object }) => object)).not.toContain("VideoJob/1-0");
    expect(kept.find(({ object, day: date }) => object === "" && date === day(1))?.quantity).toBe(20 * 60);
  });

  it("that is too large without objects loses the account with the most bytes, and keeps every other one", () => {
    const month = createUsageMonth("2026-03");
    month.add(used());
    for (let index = 0; index < 50; index++) {
      month.add(used({ account: "Account/a/b", meter: `product/${"x".repeat(400)}-${index}` }));
    }
    const { text, lost } = month.format(10_000);
    expect(lost).toEqual(["Account/a/b"]);
    expect(parseUsageMonth("2026-03", text).list()).toEqual([used()]);
  });

  it("keeps no meter of a product ID that no service has, also when it is stored", () => {
    const long = used({ meter: `product/${"x".repeat(1_200_000)}` });
    const month = createUsageMonth("2026-03");
    month.add(long);
    month.add(used());
    expect(month.list()).toEqual([used()]);
    const stored = `${JSON.stringify([long.account, "film", "", 0, long.meter, { "05": [60, 0] }])}\n${month.format(1_000).text}`;
    expect(parseUsageMonth("2026-03", stored).list()).toEqual([used()]);
  });

  it("has at most 10,000 lines of an account, which cost no other account any", () => {
    const month = createUsageMonth("2026-03");
    for (let index = 0; index < 10_500; index++) month.add(used({ meter: `product/${index}` }));
    month.add(used({ account: "Account/a/b" }));
    expect(month.list("ClusterAccount/default")).toHaveLength(10_000);
    expect(month.list("Account/a/b")).toHaveLength(1);
  });
});
