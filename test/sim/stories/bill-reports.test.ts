import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { manifest } from "../../support/manifests.ts";
import { type AnyObject, condition } from "../../support/world.ts";
import type { OperatorProcess } from "../operator/process.ts";
import { createStage, type Stage, waitForCondition } from "../stage/stage.ts";

const charge = (time: string, amount: number, more: Record<string, unknown> = {}) => ({
  time,
  amount,
  productName: "Model A",
  category: "llm",
  unitPrice: 12_345,
  ...more,
});
const CHARGES = [
  charge("2025-12-31T23:59:59Z", 1_000_000), // before there are bills
  charge("2026-01-01T00:00:00Z", 1),
  charge("2026-01-31T23:59:59Z", 20),
  charge("2026-02-01T00:00:00Z", 300, { category: "gen_api", productName: "Speech, fast" }),
  charge("2026-02-28T23:59:59Z", 4_000, {
    voucher: 1_500,
    unitPrice: 7,
    pricePrecision: 1000,
    llmSeries: "series-4",
    tieredConfig: { tiers: [{ upTo: 100 }] },
  }),
  charge("2026-03-01T00:00:00Z", 50_000, { key: 1 }),
  charge("2026-03-31T23:59:59Z", 600_000),
  charge("2026-04-01T00:00:00Z", 7_000_000), // after the period
];
const QUARTER = { lastDays: null, startTime: "2026-01-01T00:00:00Z", endTime: "2026-04-01T00:00:00Z" };

/** The quarter is over, and May has begun. */
const LATER_MS = 65 * 24 * 3_600_000;

/** A process has ended by then. */
const STOPPED_MS = 30_000;

let world: Stage;
let operator: OperatorProcess;
beforeAll(async () => {
  world = await createStage({ account: { billing: { interval: "1s", settleTime: "1s" } } });
  await world.pass(LATER_MS);
  await world.control("POST", "/__state/charges", CHARGES);
  operator = world.start();
});
afterAll(() => world.end());

afterEach(() => clearFaults());

const asked = async (): Promise<string[]> =>
  (await world.audit("listBills")).map(
    ({ query }) => `${query?.cycleType} ${iso(query?.startTime)} ${iso(query?.endTime)}`,
  );
const iso = (seconds: string | undefined) => new Date(Number(seconds) * 1000).toISOString().slice(0, 10);
const askedFor = async (product: string) =>
  (await world.audit("listBills")).filter(({ query }) => query?.productName === product);
const clearFaults = () => world.control("DELETE", "/__faults");
const request = (name: string, value: string) =>
  world.patch("BillReport", name, { metadata: { annotations: { "mooring.dev/reconcile-requested-at": value } } });

describe("a BillReport", () => {
  it("sums a quarter month by month, no bill lost or doubled at the seams, and is final", async () => {
    await world.apply(manifest("bill", { ...QUARTER, exportTo: { configMap: { name: "quarter" } } }, "quarter"));
    const { status, metadata } = await waitForCondition(world, "BillReport", "quarter", "Ready");
    expect(status).toMatchObject({
      observedGeneration: 1,
      account: { kind: "Account", name: "default", baseURL: "http://service.invalid" },
      period: { startTime: "2026-01-01T00:00:00Z", endTime: "2026-04-01T00:00:00Z" },
      totals: { amount: "65.4321", voucher: "0.15", paid: "65.2821" },
      records: 6,
      unreadable: 0,
      final: true,
      byProduct: [
        { productName: "Model A", productID: "product-1", amount: "65.4021", records: 5 },
        { productName: "Speech, fast", amount: "0.03", records: 1 },
      ],
      byCategory: [
        { category: "llm", amount: "65.4021" },
        { category: "gen_api", amount: "0.03" },
      ],
      byKey: [
        { amount: "60.4321", records: 5 },
        { amount: "5", records: 1 },
      ],
      export: { configMap: "quarter", format: "CSV" },
    });
    const ranges = (await asked()).filter((text) => /^Day 2026-0[1-4]-01 2026-0[1-4]-01$/.test(text));
    expect(ranges).toEqual(["Day 2026-01-01 2026-02-01", "Day 2026-02-01 2026-03-01", "Day 2026-03-01 2026-04-01"]);

    const map = await world.get("ConfigMap", "quarter");
    expect(map.metadata.ownerReferences).toMatchObject([{ kind: "BillReport", name: "quarter", uid: metadata.uid }]);
    const csv = dataOf(map)["bills.csv"] ?? "";
    expect(status?.export).toEqual({ configMap: "quarter", format: "CSV", bytes: Buffer.byteLength(csv) });
    const [header, ...lines] = csv.trimEnd().split("\r\n");
    const columns = (header ?? "").split(",");
    expect(columns).toHaveLength(17 + 16 + 6 + 6 + 2);
    expect(lines).toHaveLength(6);
    expect(lines[2]).toContain('"Speech, fast"');
    expect(lines[0]?.split(",")[columns.indexOf("basePrice0")]).toBe("1.2345");
    const special = lines[3]?.split(",") ?? [];
    expect(special[columns.indexOf("basePrice0")]).toBe("0.0000007");
    expect(special[columns.indexOf("llmSeries")]).toBe("series-4");
    expect(lines[3]).toMatch(/"\{""tiers"":\[\{""upTo"":100\}\]\}"$/);
    expect(lines.map((line) => line.split(",")[0])).toEqual([
      "2026-01-01T00:00:00Z",
      "2026-01-31T00:00:00Z",
      "2026-02-01T00:00:00Z",
      "2026-02-28T00:00:00Z",
      "2026-03-01T00:00:00Z",
      "2026-03-31T00:00:00Z",
    ]);
  });

  it("that is final is not asked for again, not even by a restarted operator", async () => {
    const before = (await world.audit("listBills")).filter(({ query }) => query?.endTime === "1775001600").length;
    operator.stop();
    await world.pass(STOPPED_MS);
    operator = world.start();
    await world.apply(manifest("bill", { ...QUARTER, productName: "nothing of the kind" }, "after-restart"));
    const empty = await waitForCondition(world, "BillReport", "after-restart", "Ready");
    expect(empty.status).toMatchObject({ totals: { amount: "0" }, records: 0, byKey: [] });
    const own = (await askedFor("nothing of the kind")).length;
    expect((await world.audit("listBills")).filter(({ query }) => query?.endTime === "1775001600").length).toBe(
      before + 1,
    );
    expect(own).toBe(3);
  });

  it("that is open is read again, its closed months are not", async () => {
    await world.apply(
      manifest(
        "bill",
        {
          lastDays: null,
          startTime: "2026-01-01T00:00:00Z",
          productName: "rolling",
          exportTo: { configMap: { name: "rolling", format: "JSON" } },
        },
        "rolling",
      ),
    );
    const first = await waitForCondition(world, "BillReport", "rolling", "Ready");
    expect(first.status?.final).toBeUndefined();
    const months = (await askedFor("rolling")).length;
    await world.control("POST", "/__state/charges", [
      charge(new Date(world.service.now()).toISOString(), 25_000, { productName: "rolling thunder" }),
    ]);
    await request("rolling", "again");
    const second = await world.eventually("the report is read again", async () => {
      const object = await world.get("BillReport", "rolling");
      return object.status?.lastHandledReconcileAt === "again" && object;
    });
    expect(second.status?.totals).toEqual({ amount: "2.5", voucher: "0", paid: "2.5" });
    const asks = await askedFor("rolling");
    expect(asks).toHaveLength(months + 1);
    // Month by month up to now.
    expect(months).toBeGreaterThan(1);
    const json = JSON.parse(dataOf(await world.get("ConfigMap", "rolling"))["bills.json"] ?? "");
    expect(json).toMatchObject({
      bills: [{ productName: "rolling thunder", amount: "2.5", multimodalPricing: null }],
      totals: { amount: "2.5", records: 1 },
      byProduct: [{ productName: "rolling thunder" }],
    });
  });

  it("follows its spec: what was reported of another period goes", async () => {
    await world.apply(manifest("bill", QUARTER, "edited"));
    await waitForCondition(world, "BillReport", "edited", "Ready");
    await world.patch("BillReport", "edited", { spec: { endTime: "2026-02-01T00:00:00Z", category: "llm" } });
    const after = await world.eventually("the new period", async () => {
      const object = await world.get("BillReport", "edited");
      return object.status?.observedGeneration === 2 && object;
    });
    expect(after.status).toMatchObject({ totals: { amount: "0.0021" }, records: 2 });
  });

  it("with a period before the first bill by the account's clock says so and asks nothing", async () => {
    await world.apply(
      manifest("bill", { ...QUARTER, startTime: "2025-12-31T16:00:00Z", productName: "early" }, "early"),
    );
    const early = await waitForCondition(world, "BillReport", "early", "Stalled");
    expect(condition(early, "Ready")).toMatchObject({
      status: "False",
      reason: "OutOfRange",
      message: expect.stringContaining(
        "startTime is 2025-12-31T16:00:00Z, allowed is 2026-01-01T00:00:00Z (2026-01-01 00:00 in UTC) and later",
      ),
    });
    expect(await askedFor("early")).toEqual([]);
  });

  it("does not change a ConfigMap that belongs to another owner", async () => {
    await world.apply({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "theirs" }, data: { a: "b" } });
    await world.apply(manifest("bill", { ...QUARTER, exportTo: { configMap: { name: "theirs" } } }, "conflict"));
    const stalled = await waitForCondition(world, "BillReport", "conflict", "Stalled");
    expect(condition(stalled, "Exported")).toMatchObject({ status: "False", reason: "ExportConflict" });
    expect(stalled.status?.totals).toMatchObject({ amount: "65.4321" });
    expect(dataOf(await world.get("ConfigMap", "theirs"))).toEqual({ a: "b" });
  });

  it("refuses an export that a ConfigMap cannot hold, naming both sizes, and reports the sums all the same", async () => {
    const many = Array.from({ length: 6_000 }, (_, index) =>
      charge("2026-02-10T00:00:00Z", 1, { productName: `bulk ${index}` }),
    );
    await world.control("POST", "/__state/charges", many);
    const spec = { ...QUARTER, productName: "bulk", exportTo: { configMap: { name: "bulk" } } };
    await world.apply(manifest("bill", spec, "bulk"));
    const stalled = await waitForCondition(world, "BillReport", "bulk", "Stalled");
    expect(condition(stalled, "Exported")?.message).toMatch(
      /^the CSV has [1-9]\d{6} bytes, and a ConfigMap takes 1048576:/,
    );
    expect(condition(stalled, "Stalled")).toMatchObject({ reason: "ExportTooLarge" });
    expect(stalled.status).toMatchObject({ totals: { amount: "0.6" }, records: 6_000 });
    expect(stalled.status?.byProduct).toHaveLength(20);
    await expect(world.get("ConfigMap", "bulk")).rejects.toThrow("not found");
  });

  it("whose bills the service refuses says so, and the account goes on", async () => {
    await world.control("POST", "/__faults", { operation: "listBills", kind: "status", status: 403, times: 1_000 });
    await world.apply(manifest("bill", { ...QUARTER, productName: "forbidden" }, "forbidden"));
    const stalled = await waitForCondition(world, "BillReport", "forbidden", "Stalled");
    expect(condition(stalled, "Stalled")?.message).toContain("the key may not read bills");
    expect(condition(await world.get("Account", "default"), "Ready")?.status).toBe("True");
    await clearFaults();
    await request("forbidden", "now");
    await waitForCondition(world, "BillReport", "forbidden", "Ready");
  });
});

it("the account shows what it spent today, this week and this month, and so do the metrics", async () => {
  const account = await world.eventually("the spending shows", async () => {
    const object = await world.get("Account", "default");
    const spend = object.status?.spend as Record<string, string> | undefined;
    return spend?.day === "2.5" && object;
  });
  expect(account.status?.spend).toMatchObject({ day: "2.5", week: "2.5", month: "2.5", asOf: expect.any(String) });
});

it("bill queries of the account never overlapped", async () => {
  await world.control("POST", "/__faults", {
    operation: "listBills",
    kind: "latency",
    latencyMs: 200,
    after: true,
    times: 12,
  });
  const names = Array.from({ length: 4 }, (_, index) => `turn-${index}`);
  await Promise.all(names.map((name) => world.apply(manifest("bill", { ...QUARTER, productName: name }, name))));
  for (const name of names) await waitForCondition(world, "BillReport", name, "Ready");
  const times = (await world.audit("listBills"))
    .filter(({ query, fault }) => query?.productName?.startsWith("turn-") && fault === "latency")
    .map(({ time }) => Date.parse(time));
  for (const [index, time] of times.slice(1).entries()) expect(time - (times[index] ?? 0)).toBeGreaterThanOrEqual(190);
});

function dataOf(object: AnyObject): Record<string, string> {
  return (object as AnyObject & { data?: Record<string, string> }).data ?? {};
}

it("a report with splitBy adds up to the bills, and its usage survives a restart of the operator", async () => {
  const split = async (name: string) => {
    const spec = { lastDays: 1, productName: "vid-i2v", splitBy: "Object", keyIDs: null };
    await world.apply(manifest("bill", spec, name));
    return (await waitForCondition(world, "BillReport", name, "Ready")).status;
  };
  await world.control("POST", "/__state/charges", [
    charge(new Date(world.service.now()).toISOString(), 777, { productName: "vid-i2v", productID: "other-product" }),
  ]);
  await world.apply(manifest("image", {}, "split-video"));
  await waitForCondition(world, "VideoJob", "split-video", "Complete");
  const expected = {
    by: "Object",
    scope: "All",
    lines: [{ namespace: world.namespace, kind: "VideoJob", name: "split-video" }],
  };
  const first = await split("split-before");
  expect(first).toMatchObject({ split: expected });
  expect(first?.totals).toMatchObject({ amount: String(sumOf(first?.split)) });

  operator.stop();
  await world.pass(STOPPED_MS);
  operator = world.start();
  await world.remove("VideoJob", "split-video");
  const second = await split("split-after");
  expect(second?.split).toEqual(first?.split);
});

/** Sums of a few yuan, with four decimals, are exact enough as numbers. */
function sumOf(split: unknown): number {
  const { lines, unattributed } = split as { lines: { amount: string }[]; unattributed: string };
  const units = [...lines.map(({ amount }) => amount), unattributed].map((yuan) => Math.round(Number(yuan) * 10_000));
  return units.reduce((sum, value) => sum + value, 0) / 10_000;
}
